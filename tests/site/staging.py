"""Collects the pages of the documentation site: `make docs` builds it from this copy.

Pages link to files beside `docs/`, such as an example fleet or the page of a chart. The copy has
them at the same places, so that one form of a link works on a code host and on the site.
"""

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.tree import ROOT, name_of, pages

#: What our tests read after the language of a block; the site's reader of Markdown takes such a
#: line for text, and the end of the block for the begin of another.
_SAID_OF_BLOCK = re.compile(r"^(```\w+) [^\n]*$", re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:|#)(?P<target>[^)#\s]+)")


def files_of_the_site() -> list[Path]:
    """All pages, and every file they link to, also from page to page."""
    waiting = [*pages(), ROOT / "deploy" / "README.md", *sorted((ROOT / "docs").glob("img/*"))]
    found: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        if path.suffix == ".md":
            waiting += [target for target in _targets(path) if target.is_file()]
    return sorted(found)


def _targets(page: Path) -> Iterator[Path]:
    for link in _LINK.finditer(page.read_text()):
        target = (page.parent / link["target"]).resolve()
        if target.is_relative_to(ROOT):
            yield target


def stage(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    for path in files_of_the_site():
        copy = folder / name_of(path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            copy.write_text(_SAID_OF_BLOCK.sub(r"\1", path.read_text()))
        else:
            shutil.copyfile(path, copy)


if __name__ == "__main__":
    stage(Path(sys.argv[1]))
