"""The compiled files equal their goldens, and the generated code equals its sources."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.architecture.tree import PACKAGE
from tests.wire.descriptors import ADMIN, CONTRACT, files_of, text_of
from tests.wire.generate import PROTOS, SOURCES, generate

GOLDEN = Path(__file__).parent / "golden"


def test_the_five_files_are_the_contract_and_nothing_else() -> None:
    """Written once from the tables of the wire specification. v1alpha1 is frozen: never edited."""
    compiled = [line for file in files_of(CONTRACT) for line in text_of(file)]
    assert compiled == (GOLDEN / "v1alpha1.txt").read_text().splitlines()


def test_admin_files_only_grow() -> None:
    """Lines are added here when something is released; none is changed or taken away."""
    compiled = qualified([line for file in files_of(ADMIN) for line in text_of(file)])
    released = qualified((GOLDEN / "admin.txt").read_text().splitlines())
    assert sorted(released - compiled) == []


def qualified(lines: list[str]) -> set[str]:
    """Each line with the message, enum, service or file it belongs to."""
    owner, found = "", set()
    for line in lines:
        owner = owner if line.startswith(" ") else line
        found.add(f"{owner} /{line}")
    return found


@pytest.mark.parametrize("source", SOURCES)
def test_the_sources_carry_no_options_no_optionals_and_no_foreign_imports(source: str) -> None:
    words = (PROTOS / source).read_text()
    assert re.findall(r"^\s*(?:option|optional)\b.*$", words, re.MULTILINE) == []
    imports = re.findall(r'^import "(.*)";$', words, re.MULTILINE)
    assert [name for name in imports if name not in SOURCES] == []


@pytest.mark.skipif(find_spec("grpc_tools") is None, reason="grpcio-tools is not installed")
def test_the_generated_code_is_what_the_sources_give(tmp_path: Path) -> None:
    generate(tmp_path)
    fresh = {p.relative_to(tmp_path): p.read_text() for p in tmp_path.rglob("*_pb2*")}
    kept = {
        p.relative_to(PACKAGE.parent): p.read_text()
        for p in PACKAGE.rglob("*_pb2*")
        if p.suffix in (".py", ".pyi")
    }
    assert sorted(fresh) == sorted(kept)
    assert [str(name) for name in fresh if fresh[name] != kept[name]] == [], "run `make protos`"
