"""A file holds one idea: caps on the length of files, functions and tests."""

import ast
from pathlib import Path
from statistics import median

from tests.architecture.tree import PACKAGE, TESTS, name_of, python_files

FILE_CAP = 600
TEST_CAP = 300
MEDIAN_CAP = 200
FUNCTION_CAP = 40
#: "Functions mostly under 40 lines": the share that may be longer.
LONGER_SHARE = 0.05

Function = ast.FunctionDef | ast.AsyncFunctionDef


def lines_of(path: Path) -> int:
    return len(path.read_text().splitlines())


def functions_of(path: Path) -> list[tuple[str, int]]:
    functions = (n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, Function))
    return [
        (f"{name_of(path)}:{f.lineno} {f.name}", (f.end_lineno or f.lineno) - f.lineno + 1)
        for f in functions
    ]


def test_no_file_is_longer_than_the_cap() -> None:
    sizes = {name_of(path): lines_of(path) for path in python_files(PACKAGE, TESTS)}
    assert {name: size for name, size in sizes.items() if size > FILE_CAP} == {}


def test_the_median_file_of_the_package_is_short() -> None:
    sizes = [size for path in python_files(PACKAGE) if (size := lines_of(path)) > 1]
    assert median(sizes) <= MEDIAN_CAP


def test_functions_are_mostly_short() -> None:
    sizes = [pair for path in python_files(PACKAGE) for pair in functions_of(path)]
    long = sorted((pair for pair in sizes if pair[1] > FUNCTION_CAP), key=lambda pair: -pair[1])
    assert len(long) <= LONGER_SHARE * len(sizes), long


def test_no_test_is_longer_than_its_cap() -> None:
    sizes = [pair for path in python_files(TESTS) for pair in functions_of(path)]
    assert [pair for pair in sizes if pair[1] > TEST_CAP] == []


def test_every_module_says_what_it_decides() -> None:
    modules = [path for path in python_files(PACKAGE) if path.read_text().strip()]
    silent = [p for p in modules if ast.get_docstring(ast.parse(p.read_text())) is None]
    assert [name_of(path) for path in silent] == []


def test_names_are_words_of_the_domain() -> None:
    vague = {"util", "utils", "common", "manager", "data", "info", "helpers", "misc"}
    words = {path: set(path.stem.split("_")) for path in python_files(PACKAGE, TESTS)}
    assert [name_of(path) for path, found in words.items() if found & vague] == []
