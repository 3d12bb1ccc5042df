"""Writes a new provider project from the templates beside this file."""

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from textwrap import indent

from bigfleet.model.errors import BadInput, Problem

PROFILES = {
    "cloud": "core,cloud,spot,fault,durable",
    "bare-metal": "bare-metal,fault,durable",
    "minimal": "core,cloud,spot,fault,durable",
}
#: What the offerings.json of each template sells.
SOLD = {
    "cloud": {"instance_type": "std-2", "zone": "zone-a", "region": "region-1",
              "capacity_type": "on_demand", "count": 20, "price": 0.095,
              "resources": {"cpu": "2", "memory": "8Gi"}, "labels": {}},
    "bare-metal": {"instance_type": "metal-16", "zone": "site-1", "region": "site-1",
                   "capacity_type": "bare_metal", "count": 20, "price": 0.0,
                   "resources": {"cpu": "16", "memory": "64Gi"}, "labels": {}},
}  # fmt: skip
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def written(name: str, template: str, folder: Path) -> list[Path]:
    """The files written below `folder`, which must not exist yet."""
    if not _NAME.fullmatch(name):
        raise BadInput([Problem(name, "name it in lower case, such as acme or acme-cloud")])
    if folder.exists():
        raise BadInput([Problem(str(folder), "exists already; nothing was written")])
    words = _words(name, template)
    root = files("bigfleet.provider.scaffold") / "templates"
    made = []
    for source, target in _sources(root, template):
        path = folder / _filled(target.removesuffix(".tmpl"), words)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_filled(source.read_text(), words))
        made.append(path)
    return sorted(made)


def _words(name: str, template: str) -> dict[str, str]:
    package = name.replace("-", "_") + "_provider"
    offerings = json.dumps([SOLD.get(template, SOLD["cloud"])], indent=2)
    return {
        "@OFFERINGS@": offerings,
        "@OFFERINGS_INDENTED@": indent(offerings, "  "),
        "@NAME@": name,
        "@PACKAGE@": package,
        "@CLASS@": "".join(part.capitalize() for part in name.split("-")),
        "@PROFILE@": PROFILES[template],
        "@TEMPLATE@": template,
    }


def _sources(root: Traversable, template: str) -> Iterator[tuple[Traversable, str]]:
    yield from _below(root / "shared", "")
    yield from _below(root / template, "src/@PACKAGE@/")


def _below(folder: Traversable, prefix: str) -> Iterator[tuple[Traversable, str]]:
    for item in folder.iterdir():
        if item.is_dir():
            yield from _below(item, f"{prefix}{item.name}/")
        else:
            yield item, prefix + item.name


def _filled(text: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(word, value)
    return text
