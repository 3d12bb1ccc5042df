"""Fails where a page of the site loads a script, a style, a font or a picture from another host."""

import re
import sys
from pathlib import Path

_LOADED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|<link\b(?![^>]*\brel=["']?canonical)[^>]*\bhref=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|(?:@import\s+|url\()\s*["']?(?:https?:)?//[^"'\s)]+""",
    re.IGNORECASE,
)


def loaded_from_other_hosts(site: Path) -> list[str]:
    found = (path for path in sorted(site.rglob("*")) if path.suffix in (".html", ".css"))
    return [
        f"{path.relative_to(site)}: {match[0]}"
        for path in found
        for match in _LOADED.finditer(path.read_text())
    ]


if __name__ == "__main__":
    if problems := loaded_from_other_hosts(Path(sys.argv[1])):
        sys.exit("\n".join(problems))
