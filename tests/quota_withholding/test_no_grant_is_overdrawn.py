"""Between two looks slots may be shown that should not be; they are not bought all the same."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.model.machines import MachineState
from bigfleet.model.shard_views import StorySource
from tests.quota_withholding.granting import BOLT, GrantRig, slot

S = MachineState
_PROVIDER = StorySource.PROVIDER


def test_what_is_bought_is_counted_one_by_one() -> None:
    shard = GrantRig()
    shard.has(slot("a"), slot("b"))
    shard.granted(2)
    shard.has(slot("c"), slot("d"))
    assert [shard.bought(name) for name in "abcd"] == [True, True, False, False]


def test_the_reason_names_the_quota() -> None:
    shard = GrantRig()
    shard.has(slot("used", state=S.IDLE), slot("a"))
    shard.granted(1)
    reason = shard.quotas.why_not_bought(shard.machines.truth("a"))
    assert reason is not None
    assert reason.text == "all 1 machine granted of acme in eu is in use"


def test_other_places_are_bought_as_ever() -> None:
    shard = GrantRig()
    shard.has(slot("a"), slot("us", region="us"))
    shard.has(slot("b"), provider=BOLT)
    shard.granted(0)
    assert [shard.bought(name) for name in ("a", "us", "b")] == [False, True, True]


def test_machines_that_came_in_bulk_are_counted_too() -> None:
    shard = GrantRig()
    shard.has(slot("a"))
    shard.granted(1)
    shard.has(slot("used", state=S.CONFIGURED))
    assert not shard.bought("a")


def test_a_slot_that_is_given_back_may_be_bought_again() -> None:
    shard = GrantRig()
    shard.has(slot("a"), slot("b"))
    shard.granted(1)
    assert shard.bought("a")
    assert not shard.bought("b")
    shard.becomes("a", S.SPECULATIVE)
    assert shard.bought("b")


def test_a_machine_that_left_uses_nothing() -> None:
    shard = GrantRig()
    shard.has(slot("used", state=S.IDLE), slot("a"))
    shard.granted(1)
    assert not shard.bought("a")
    shard.machines.remove_all(["used"], shard.at, "gone", source=_PROVIDER)
    assert shard.bought("a")


steps = st.lists(
    st.tuples(
        st.sampled_from(["come", "buy", "give back", "leave", "grant", "look"]),
        st.integers(0, 9),
        st.integers(0, 6),
    ),
    max_size=40,
)


@given(steps)
@settings(max_examples=200, deadline=None)
def test_no_schedule_has_more_in_use_than_was_granted_when_it_was_bought(
    schedule: list[tuple[str, int, int]],
) -> None:
    shard, allocated = GrantRig(), 3
    shard.granted(allocated)
    for step, number, more in schedule:
        name = f"m-{number}"
        known = name in shard.machines
        free = known and shard.machines.state_of(name) is S.SPECULATIVE
        match step:
            case "come" if not known:
                shard.has(slot(name, float(more), state=S.IDLE if more == 6 else S.SPECULATIVE))
            case "buy" if free:
                before = in_use(shard)
                bought = shard.bought(name)
                assert bought == (before < allocated)
            case "give back" if known and not free:
                shard.becomes(name, S.SPECULATIVE)
            case "leave" if known:
                shard.machines.remove(name, shard.at, "gone", _PROVIDER)
            case "grant":
                allocated = more
                shard.granted(allocated)
            case "look":
                shard.looks()
                slots = [n for n in shard.machines.ids() if is_slot(shard, n)]
                shown = len(slots) - len(shard.withheld())
                assert shown == min(len(slots), max(0, allocated - in_use(shard)))


def in_use(shard: GrantRig) -> int:
    return sum(1 for name in shard.machines.ids() if not is_slot(shard, name))


def is_slot(shard: GrantRig, name: str) -> bool:
    return shard.machines.state_of(name) is S.SPECULATIVE
