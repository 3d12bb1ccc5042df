"""CRD schemas in the short notation of the wire contract, so that tests read like its tables."""

from collections.abc import Iterator, Mapping
from typing import Any

from bigfleet.model.syntax import (
    LABEL_KEY_PATTERN,
    LABEL_VALUE_PATTERN,
    LONGEST_LABEL_KEY,
    LONGEST_LABEL_VALUE,
)

Schema = Mapping[str, Any]

#: Texts that are Kubernetes label syntax, by their notation.
LABEL_SYNTAX = {
    "label-key": {"pattern": LABEL_KEY_PATTERN, "maxLength": LONGEST_LABEL_KEY},
    "label-value": {"pattern": LABEL_VALUE_PATTERN, "maxLength": LONGEST_LABEL_VALUE},
}

QUANTITY = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": (
        r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
        r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
    ),
    "x-kubernetes-int-or-string": True,
}


def fields_of(schema: Schema, path: str = "") -> Iterator[tuple[str, str]]:
    """Each field and what it may hold; `!` marks what its owner must have, `[]` the items."""
    required = schema.get("required", [])
    assert set(required) <= set(schema.get("properties", {})), path
    for name, field in schema.get("properties", {}).items():
        inner = f"{path}.{name}" if path else name
        yield inner, kind_of(field) + (" !" if name in required else "")
        yield from fields_of(field, inner)
        if "items" in field:
            yield from fields_of(field["items"], f"{inner}[]")


def kind_of(schema: Schema) -> str:
    """`map of Q`, `array atomic of string`, `enum A B`, `object atomic`."""
    said = {key: value for key, value in schema.items() if key != "description"}
    if "anyOf" in said:
        assert said == QUANTITY
        return "Q"
    kind = said.pop("type")
    match kind:
        case "array":
            list_type = said.pop("x-kubernetes-list-type", "")
            inner = kind_of(said.pop("items"))
            text = " ".join(("array", *filter(None, [list_type]), "of", inner))
        case "object" if "additionalProperties" in said:
            text = f"map of {kind_of(said.pop('additionalProperties'))}"
        case "object":
            said.pop("properties", None)
            said.pop("required", None)
            text = " ".join(("object", *filter(None, [said.pop("x-kubernetes-map-type", "")])))
        case _:
            words = [*filter(None, [said.pop("format", "")])]
            for notation, limits in LABEL_SYNTAX.items():
                if {name: said.get(name) for name in limits} == limits:
                    words.append(notation)
                    said = {name: each for name, each in said.items() if name not in limits}
            if "enum" in said:
                words += ["enum", *said.pop("enum")]
            text = " ".join((kind, *words))
    assert said == {}, f"{text} says more than the contract has a notation for: {said}"
    return text
