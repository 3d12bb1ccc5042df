"""What people ask for is checked before anything is done, and every fault says how it ends."""

import pytest

from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.provider.sim.world.verbs import VERBS, command_of_words
from bigfleet.up.chaos import verbs_of
from bigfleet.up.faults import FAULTS, NOT_HERE, fault_named

OF_PARTS = {"kill-shard", "kill-coordinator", "partition", "rollup-empty"}


@pytest.mark.parametrize("name", sorted(FAULTS.keys() - OF_PARTS))
def test_each_fault_of_the_provider_is_a_verb_it_understands_and_is_undone(name: str) -> None:
    fault = FAULTS[name]
    begin, undo = verbs_of(name, fault.checked({}), 30)
    assert command_of_words(begin).verb == name
    ends_by_itself = fault.seconds is None or not fault.ends_early
    assert bool(undo) is not ends_by_itself
    if undo:
        assert command_of_words(undo).verb in VERBS


@pytest.mark.parametrize(
    ("name", "given", "complaint"),
    [
        ("stock", {"zone": "a"}, "stock has no argument 'zone'; it takes: select"),
        ("rpc-error", {"p": 2}, "p 2: from 0.01 to 1"),
        ("rpc-error", {"p": "nan"}, "p 'nan' is not a number"),
        ("rpc-error", {"code": "SAD"}, "code 'SAD' is not one of"),
        ("partition", {"cluster": "<img>"}, "is not one of shop, ml, batch"),
        ("stock", {"select": "x\0"}, "at most 200 printable characters"),
        ("stock", {"select": "x" * 201}, "at most 200 printable characters"),
    ],
    ids=["unknown", "too much", "no number", "no code", "no cluster", "NUL", "long"],
)
def test_what_cannot_be_meant_is_refused(
    name: str, given: dict[str, object], complaint: str
) -> None:
    with pytest.raises(Rejected) as refused:
        fault_named(name).checked(given)
    assert refused.value.code is Code.INVALID_ARGUMENT
    assert complaint in refused.value.text


def test_an_unknown_fault_is_refused_with_those_there_are() -> None:
    with pytest.raises(Rejected) as refused:
        fault_named("meteor")
    assert "'meteor' cannot be done here; there are kill-shard" in refused.value.text


@pytest.mark.parametrize("seconds", [0, -1, 601, "soon"], ids=str)
def test_a_duration_is_within_its_limits(seconds: object) -> None:
    with pytest.raises(Rejected):
        fault_named("outage").lasting(seconds)


def test_a_duration_may_be_left_out() -> None:
    assert fault_named("outage").lasting(None) == 30.0
    assert fault_named("outage").lasting(5) == 5.0
    assert fault_named("interrupt").lasting(5) is None


def test_what_is_left_out_says_why() -> None:
    assert all(why for why in NOT_HERE.values())
