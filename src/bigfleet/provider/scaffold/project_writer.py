"""Writes files for authors: a new provider project from the templates beside this file, and the
contract's .proto files with the options that the generator of a language needs.
"""

import json
import re
import shlex
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


#: What a provider serves; it imports nothing.
CONTRACT = "bigfleet/v1alpha1/provider.proto"
_GO_PATH = re.compile(r"[a-z0-9][a-z0-9.-]*(/[A-Za-z0-9._~-]+)*")
_JAVA_PACKAGE = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)*")
_PACKAGE_LINE = "package bigfleet.v1alpha1;\n"


def written_protos(folder: Path, language: str, package: str) -> list[Path]:
    ours = (files("bigfleet") / "protos" / CONTRACT).read_text()
    text = ours.replace(_PACKAGE_LINE, _PACKAGE_LINE + _options(language, package))
    target = folder / CONTRACT
    if target.exists() and target.read_text() != text:
        raise BadInput([Problem(str(target), "is there and differs; name another folder")])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    return [target]


def _options(language: str, package: str) -> str:
    match language:
        case "go":
            if not _GO_PATH.fullmatch(package):
                _refuse("the import path of the generated Go code, such as example.com/acme/gen")
            return f'\noption go_package = "{package}/bigfleet/v1alpha1;bigfleetv1alpha1";\n'
        case "java":
            if not _JAVA_PACKAGE.fullmatch(package):
                _refuse("the package of the generated Java code, such as com.acme.bigfleet")
            return f'\noption java_multiple_files = true;\noption java_package = "{package}";\n'
    if package:
        _refuse("given with --language go or java; no other generator reads it from the file")
    return ""


def _refuse(text: str) -> None:
    raise BadInput([Problem("--package", f"must be {text}")])


def next_command(folder: Path, language: str) -> str:
    root = shlex.quote(str(folder))
    match language:
        case "go":
            return f"protoc -I {root} --go_out=. --go-grpc_out=. {CONTRACT}"
        case "java":
            return f"protoc -I {root} --java_out=. --grpc-java_out=. {CONTRACT}"
        case "typescript":
            options = "--ts_proto_out=. --ts_proto_opt=outputServices=grpc-js"
            return f"protoc -I {root} {options} {CONTRACT}"
    return f"protoc -I {root} {CONTRACT}, with the generator of your language"
