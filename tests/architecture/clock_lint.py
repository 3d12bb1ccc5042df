"""Finds clocks and chance in source text: both must come in as arguments.

Reported: reading the clock, sleeping, and drawing from a generator that was not passed in. Parsing
and formatting of instants is not reported, nor is making a generator from a seed.
"""

import ast
from collections.abc import Iterator

_WHOLE_MODULES = frozenset({"time", "secrets"})
_CHANCE = frozenset({"random", "numpy.random"})
_SEEDED = frozenset(
    {"Random", "default_rng", "Generator", "PCG64", "Philox", "SeedSequence", "BitGenerator"}
)
_CALLS = frozenset(
    {
        "datetime.datetime.now",
        "datetime.datetime.today",
        "datetime.datetime.utcnow",
        "datetime.date.today",
        "os.urandom",
        "os.getrandom",
        "uuid.uuid1",
        "uuid.uuid4",
        "asyncio.sleep",
    }
)


def findings(source: str) -> list[str]:
    """`line: name` of every clock and every unseeded draw."""
    tree = ast.parse(source)
    origin = dict(_imported(tree))
    found = [
        f"{node.lineno}: {name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom | ast.Attribute)
        for name in _names_used(node, origin)
        if _is_clock_or_chance(name)
    ]
    return sorted(set(found))


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Local name -> dotted origin, for every import of the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                yield (alias.asname, alias.name) if alias.asname else (top, top)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _names_used(node: ast.ImportFrom | ast.Attribute, origin: dict[str, str]) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom):
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif dotted := _dotted(node, origin):
        yield dotted


def _dotted(node: ast.expr, origin: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return origin.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value, origin)
        return f"{owner}.{node.attr}" if owner else None
    return None


def _is_clock_or_chance(name: str) -> bool:
    owner, _, last = name.rpartition(".")
    if owner in _CHANCE:
        return last not in _SEEDED
    return name in _CALLS or owner.split(".")[0] in _WHOLE_MODULES
