"""The contract's .proto files for any language, with the options its generator needs."""

import re
import shlex
from importlib.resources import files
from pathlib import Path

from bigfleet.model.errors import BadInput, Problem

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
