"""What a person on call reads where no shard helps another one: the reason of the last sweep."""

from typing import Any

import pytest

from bigfleet.coordinator.membership import removal
from bigfleet.coordinator.rebalancing import shortfall_views, sweeps
from bigfleet.coordinator.settings import RebalanceSettings
from bigfleet.model.coordination import ShortfallList, ShortfallView, TransferState
from bigfleet.model.pauses import PauseScope
from bigfleet.model.requirements import RACK_KEY, Operator, Requirement
from tests.rebalance.fleets import Fleet, rules_of

EASY = rules_of(donor_rate=1.0, drain=False)
SAME_RACK = (Requirement.of(RACK_KEY, Operator.SAME),)


def short_fleet(rules: RebalanceSettings = EASY, **machines: int) -> Fleet:
    """Shard a is short of two machines."""
    fleet = Fleet(rules, **(machines or {"a": 3, "b": 30}))
    fleet.demand("a", 5)
    fleet.settle()
    return fleet


def listed(fleet: Fleet, shard: str = "", limit: int = 0) -> ShortfallList:
    return shortfall_views.shortfalls(fleet.book, shard, limit)


def only(fleet: Fleet) -> ShortfallView:
    (found,) = listed(fleet).shortfalls
    return found


def told(fleet: Fleet) -> str:
    return only(fleet).reason.text


def test_a_donor_that_keeps_its_margin_is_named() -> None:
    fleet = short_fleet(a=3, b=2)
    fleet.run(60)
    assert told(fleet) == "b keeps 2 of the 2 machines that may match"


def test_a_fleet_without_a_donor_says_so() -> None:
    fleet = short_fleet(rules_of(EASY, drain=True), a=3, b=0)
    fleet.run(60)
    assert told(fleet) == "no other shard has machines that may match"


def test_what_only_machines_in_use_could_help_says_when_they_are_drained() -> None:
    fleet = short_fleet(rules_of(EASY, drain=True, drain_age_cycles=100), a=3, b=0)
    fleet.run(20)
    assert told(fleet) == (
        "no free machine elsewhere may match, and those in use are drained only for what is short"
        " for more than 100 cycles, not 20"
    )


def test_a_receiver_that_rests_says_for_how_long() -> None:
    fleet = short_fleet()
    fleet.run_until(TransferState.DONE)
    fleet.demand("a", 10)
    fleet.run(30)
    assert told(fleet) == "a rests for 90 s more after the last transfer for it"


@pytest.mark.parametrize(
    ("facts", "key"),
    [({"same": True}, "domain"), ({"requirements": SAME_RACK}, RACK_KEY)],
    ids=["a gang", "one rack"],
)
def test_what_must_stand_together_says_that_domains_do_not_cross(
    facts: dict[str, Any], key: str
) -> None:
    fleet = Fleet(EASY, a=3, b=30)
    fleet.demand("a", 5, **facts)
    fleet.settle()
    fleet.run(60)
    assert told(fleet) == f"must share one {key}, and that never crosses shards"


def test_what_is_not_short_for_long_says_how_long_it_takes() -> None:
    fleet = short_fleet(rules_of(EASY, age_cycles=40))
    fleet.run(20)
    assert told(fleet) == "short for 20 cycles, and 40 may pass before others help"


def test_a_pause_is_told_of_every_shortfall() -> None:
    fleet = short_fleet()
    fleet.pause(PauseScope(rebalance_only=True))
    fleet.run(20)
    assert told(fleet) == "machines do not move between shards: it is paused"


def test_a_transfer_that_was_opened_is_named() -> None:
    fleet = short_fleet()
    opened = fleet.run_until(TransferState.OFFERED)
    found = only(fleet)
    assert (found.transfer, found.swept_at) == (opened.id, fleet.at)
    assert found.reason.text == f"transfer {opened.id} is under way for it"


def test_a_transfer_that_ended_since_the_sweep_is_not_called_under_way() -> None:
    fleet = short_fleet()
    opened = fleet.run_until(TransferState.OFFERED)
    fleet.cancel(opened.id)
    assert only(fleet).transfer == ""
    assert told(fleet) == (
        f"transfer {opened.id} for it is cancelled; the next sweep looks at what is left"
    )


def test_what_a_sweep_had_no_room_for_is_not_called_hopeless(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sweeps, "MOST_ROWS", 0)
    fleet = short_fleet()
    fleet.run(20)
    assert (fleet.all(), fleet.blocked("sweep")) == ([], 1)
    assert told(fleet) == (
        "nothing speaks against it; one sweep changes 0 rows at most, the next goes on"
    )


def test_a_new_leader_knows_no_shortfall_before_a_shard_has_synced() -> None:
    fleet = short_fleet(a=3, b=2)
    fleet.run(60)
    fleet.fail_over()
    assert listed(fleet) == ShortfallList((), 0, ("a", "b"))
    assert listed(fleet, "a") == ShortfallList((), 0, ("a",))


def test_a_new_leader_says_that_no_sweep_has_looked_yet() -> None:
    fleet = short_fleet(a=3, b=2)
    fleet.run(60)
    fleet.fail_over()
    fleet.talk(fleet.shards["a"], rounds=1)
    assert listed(fleet).unknown_shards == ("b",)
    assert only(fleet).swept_at is None
    assert told(fleet) == "no sweep has looked at it yet; one begins every 10 s"


def test_the_reason_goes_with_its_shortfall() -> None:
    fleet = short_fleet(a=3, b=2)
    fleet.run(60)
    assert fleet.book.sizes()["sweptShortfalls"] == 1
    fleet.demand("a", 0)
    fleet.run(1)
    fleet.talk(fleet.shards["a"], rounds=1)
    assert listed(fleet) == ShortfallList()
    assert fleet.book.sizes()["sweptShortfalls"] == 0


def test_the_reasons_go_with_their_shard() -> None:
    fleet = short_fleet(a=3, b=2)
    fleet.run(60)
    fleet.transact(lambda book, draft: removal.remove_shard(book, draft, "a", None))
    assert listed(fleet) == ShortfallList()
    assert fleet.book.sizes()["sweptShortfalls"] == 0


def short_of_much() -> Fleet:
    """Two shards are short of three things each, of other priorities, and there is no donor."""
    fleet = Fleet(EASY, a=0, b=0)
    for shard in "ab":
        for number in range(3):
            fleet.demand(shard, 1, f"web-{number}", priority=number)
    fleet.settle()
    fleet.run(20)
    return fleet


def test_the_most_urgent_come_first_and_the_rest_is_counted() -> None:
    found = listed(short_of_much(), limit=4)
    assert [(each.shard, each.priority) for each in found.shortfalls] == [
        ("a", 2),
        ("b", 2),
        ("a", 1),
        ("b", 1),
    ]
    assert found.total == 6


def test_one_shard_may_be_asked_about_alone() -> None:
    found = listed(short_of_much(), "b")
    assert [each.shard for each in found.shortfalls] == ["b", "b", "b"]
    assert found.total == 3


@pytest.mark.parametrize("limit", [0, 2**31 - 1])
def test_no_answer_holds_more_than_a_leader_has_time_for(
    monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(shortfall_views, "MOST_SHOWN", 2)
    found = listed(short_of_much(), limit=limit)
    assert (len(found.shortfalls), found.total) == (2, 6)


def test_a_shard_that_is_not_a_member_has_no_shortfalls() -> None:
    assert listed(short_of_much(), "c") == ShortfallList()
