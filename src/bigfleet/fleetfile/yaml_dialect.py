"""YAML as fleet files mean it: the scalars of YAML 1.2 and no repeated keys.

YAML 1.1 reads `no` as false, `010` as eight and `12:30` as 750; machine ids and zones must not
change like that, and times stay text so that no nanosecond is lost.
"""

import re
from collections.abc import Hashable
from typing import Any

import yaml

from bigfleet.fleetfile.complaints import LineOf, Path
from bigfleet.fleetfile.limits import MOST_DIGITS, TooMuch, check_yaml

_BOOL = re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$")
_INT = re.compile(r"^[-+]?[0-9]+$")
_FLOAT = re.compile(
    r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
)
_NULL = re.compile(r"^(?:~|null|Null|NULL|)$")
_MERGE = re.compile(r"^<<$")
_CORE = (
    ("bool", _BOOL, "tTfF"),
    ("int", _INT, "-+0123456789"),
    ("float", _FLOAT, "-+0123456789."),
    ("null", _NULL, ["~", "n", "N", ""]),
    ("merge", _MERGE, "<"),
)


class FleetLoader(yaml.CSafeLoader):
    """Plain data only, every mapping key once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key_node, _ in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is None:
                raise yaml.constructor.ConstructorError(
                    None, None, "a key must be plain text", key_node.start_mark
                )
            if key in seen and key != "<<":
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key!r} appears twice in one mapping", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_decimal(self, node: yaml.ScalarNode) -> int:
        digits = self.construct_scalar(node)
        if len(digits) > MOST_DIGITS:
            raise TooMuch(f"a number of {len(digits):,} digits; {MOST_DIGITS} fit", node.start_mark)
        return int(digits)


class FleetDumper(yaml.CSafeDumper):
    """Quotes text that one of the YAML versions would read as something else."""

    def ignore_aliases(self, data: object) -> bool:
        return True


# The base classes keep theirs: a resolver added to a subclass goes into a copy of the table.
FleetLoader.yaml_implicit_resolvers = {}
for _name, _pattern, _first in _CORE:
    _tag = f"tag:yaml.org,2002:{_name}"
    FleetLoader.add_implicit_resolver(_tag, _pattern, list(_first))
    FleetDumper.add_implicit_resolver(_tag, _pattern, list(_first))
FleetLoader.add_constructor("tag:yaml.org,2002:int", FleetLoader.construct_decimal)


def decode_yaml(text: str) -> object:
    """The document; raises yaml.YAMLError with the place of what it cannot read, or will not."""
    check_yaml(text)
    loader = FleetLoader(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def encode_yaml(document: object) -> str:
    """Leaf collections on one line, everything else indented."""
    return yaml.dump(
        document,
        Dumper=FleetDumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,
        width=2**30,
    )


def lines_of(text: str) -> LineOf:
    """Where each path of the document stands; reads the text again, so only for complaints."""
    try:
        root = yaml.compose(text, Loader=FleetLoader)
    except (yaml.YAMLError, RecursionError):
        return lambda path: None
    return lambda path: _line_in(root, path)


def _line_in(node: yaml.Node | None, path: Path) -> int | None:
    line = None
    for part in path:
        if isinstance(node, yaml.MappingNode):
            pair = next(((k, v) for k, v in node.value if k.value == part), None)
            if pair is None:
                return line
            line, node = pair[0].start_mark.line + 1, pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            if part >= len(node.value):
                return line
            node = node.value[part]
            line = node.start_mark.line + 1
        else:
            return line
    return line
