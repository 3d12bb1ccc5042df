"""What an extra installs is imported inside a guard, so that the rest works without it."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.test_import_contracts import SETTINGS
from tests.architecture.tree import PACKAGE

EXTRAS = {
    requirement.partition(">")[0]
    for requirements in SETTINGS["project"]["optional-dependencies"].values()
    for requirement in requirements
}


def imports(tree: ast.AST, *, guarded: bool = False) -> Iterator[tuple[str, bool]]:
    """Module, and whether its absence is caught; imports for types alone are left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((name.name.partition(".")[0], guarded) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0], guarded
        elif isinstance(node, ast.Try):
            caught = {ast.unparse(each.type) for each in node.handlers if each.type is not None}
            for part in node.body:
                yield from imports(ast.Module([part], []), guarded="ImportError" in caught)
            rest = [*node.handlers, *node.orelse, *node.finalbody]
            yield from imports(ast.Module(rest, []), guarded=guarded)  # type: ignore[arg-type]
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield from imports(node, guarded=guarded)


def imported_extras(file: Path) -> set[tuple[str, bool]]:
    return {found for found in imports(ast.parse(file.read_text())) if found[0] in EXTRAS}


def test_every_import_of_an_extra_is_inside_a_guard() -> None:
    found = {file: imported_extras(file) for file in PACKAGE.rglob("*.py")}
    assert {file for file, each in found.items() if ("highspy", True) in each} == {
        PACKAGE / "regret" / "solver.py"
    }
    assert [file for file, each in found.items() if any(not guarded for _, guarded in each)] == []


def test_an_import_without_a_guard_is_noticed() -> None:
    bare = "def f():\n    import highspy\n"
    other = "try:\n    pass\nexcept ImportError:\n    import highspy\n"
    assert list(imports(ast.parse(bare))) == [("highspy", False)]
    assert list(imports(ast.parse(other))) == [("highspy", False)]
