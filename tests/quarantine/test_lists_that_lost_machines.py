"""A List that lost many machines is held until it has been said often and long enough."""

from collections.abc import Iterable

from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.model.shard_views import Quarantine, QuarantineKind
from bigfleet.shard.settings import RailSettings, ShardSettings
from tests.reconciling.rig import CONFIGURED, IDLE, Rig, record

FLEET = [record(f"m-{i:02d}", CONFIGURED if i % 2 else IDLE) for i in range(20)]


def ids(records: Iterable[MachineRecord]) -> list[str]:
    return [each.id for each in records]


def fleet_of(machines: list[MachineRecord] = FLEET, settings: ShardSettings | None = None) -> Rig:
    rig = Rig(settings=settings)
    rig.lists(*machines)
    rig.effects.taken()
    return rig


def later(rig: Rig, seconds: float, *records: MachineRecord) -> None:
    rig.wait(seconds - 1)
    rig.lists(*records)


def test_a_tenth_may_be_missing() -> None:
    rig = fleet_of()
    for _ in range(2):
        rig.lists(*FLEET[2:])
    assert rig.ids() == ids(FLEET[2:])
    assert rig.reconciler.quarantines() == []


def test_more_than_a_tenth_is_held() -> None:
    rig = fleet_of()
    for _ in range(5):
        rig.lists(*FLEET[3:])
    assert rig.ids() == ids(FLEET)
    assert rig.count("list_quarantined", provider="acme") == 5
    assert rig.logged() == ["list_quarantined"]


def test_a_hold_can_be_looked_at() -> None:
    rig = fleet_of()
    rig.lists(*FLEET[5:])
    since = rig.now
    rig.lists(*FLEET[7:])
    assert rig.reconciler.quarantines() == [
        Quarantine(
            QuarantineKind.PROVIDER_LIST,
            "acme",
            20,
            13,
            2,
            3,
            since,
            since + 60 * SECOND,
            "7 of 20 machines are missing",
        )
    ]


def test_small_fleets_are_believed() -> None:
    rig = fleet_of(FLEET[:9])
    for _ in range(2):
        rig.lists()
    assert rig.ids() == []


def test_three_lists_over_a_minute_are_believed_and_only_what_all_of_them_missed() -> None:
    rig = fleet_of()
    rig.lists(*FLEET[8:])
    later(rig, 30, *FLEET[5:])
    rig.sent.clear()
    later(rig, 30, *FLEET[7:])
    assert rig.ids() == ids(FLEET[5:])
    assert rig.reconciler.unseen_lists("m-05") == 1
    assert rig.told() == [("shop", "m-01", 8), ("shop", "m-03", 8)]
    assert rig.count("list_quarantined", provider="acme") == 0
    assert rig.logged() == ["list_quarantined", "list_quarantine_confirmed"]


def test_often_is_not_enough_without_long() -> None:
    rig = fleet_of()
    for _ in range(60):
        rig.lists()
    assert rig.ids() == ids(FLEET)
    rig.lists()
    assert rig.ids() == []


def test_long_is_not_enough_without_often() -> None:
    rig = fleet_of()
    rig.lists()
    later(rig, 3600)
    assert rig.ids() == ids(FLEET)
    later(rig, 1)
    assert rig.ids() == []


def test_a_good_list_in_between_ends_the_hold() -> None:
    rig = fleet_of()
    rig.lists()
    later(rig, 40)
    later(rig, 10, *FLEET)
    assert rig.reconciler.quarantines() == []
    assert rig.count("machines_unseen", provider="acme") == 0
    later(rig, 10)
    later(rig, 59)
    assert rig.ids() == ids(FLEET)


def test_held_lists_do_not_count_for_those_still_missing_afterwards() -> None:
    """One machine misses two held Lists and a good one: that is one List that is believed."""
    rig = fleet_of()
    rig.lists()
    rig.lists()
    rig.lists(*FLEET[1:])
    assert rig.reconciler.unseen_lists("m-00") == 1
    assert rig.ids() == ids(FLEET)
    rig.lists(*FLEET[1:])
    assert rig.ids() == ids(FLEET[1:])


def test_the_baseline_stays_while_lists_are_held() -> None:
    rig = fleet_of()
    rig.lists(*FLEET[15:])
    rig.lists(*FLEET[15:], *(record(f"new-{i}") for i in range(30)))
    held = rig.reconciler.quarantines()
    assert (held[0].baseline, held[0].observed) == (20, 5)


def test_present_records_are_applied_meanwhile() -> None:
    rig = fleet_of()
    rig.lists(record("m-19", CONFIGURED, price_per_hour=0.9), record("new"))
    assert rig.machine("m-19").price_per_hour == 0.9
    assert "new" in rig.ids()
    assert rig.count("list_quarantined", provider="acme") == 1


def test_lists_of_changes_neither_end_nor_confirm_a_hold() -> None:
    rig = fleet_of()
    rig.lists()
    for _ in range(5):
        rig.wait(30)
        rig.lists(FLEET[0], whole=False)
    assert rig.reconciler.quarantines()[0].consecutive == 1
    assert rig.ids() == ids(FLEET)


def test_a_machine_acted_on_is_not_removed_by_a_confirmed_list() -> None:
    rig = fleet_of()
    rig.pending.add("m-04")
    rig.lists()
    later(rig, 30)
    later(rig, 30)
    assert rig.ids() == ["m-04"]
    rig.pending.clear()
    rig.lists()
    assert rig.ids() == []


def test_an_administrator_may_believe_the_hold() -> None:
    rig = fleet_of()
    rig.lists(*FLEET[8:])
    rig.lists(*FLEET[6:])
    text = rig.reconciler.release("acme", True, rig.now)
    while rig.reconciler.continue_list("acme"):
        pass
    assert text == "2 held Lists of acme were accepted; 6 machines are removed"
    assert rig.ids() == ids(FLEET[6:])
    assert rig.reconciler.quarantines() == []
    rig.lists(*FLEET[6:])
    assert rig.reconciler.quarantines() == []


def test_an_administrator_may_discard_the_hold() -> None:
    rig = fleet_of()
    rig.lists()
    later(rig, 59)
    text = rig.reconciler.release("acme", False, rig.now)
    assert text == "2 held Lists of acme were discarded; nothing was removed"
    assert rig.count("list_quarantined", provider="acme") == 0
    later(rig, 10)
    assert rig.reconciler.quarantines()[0].consecutive == 1
    assert rig.ids() == ids(FLEET)


def test_there_is_nothing_to_release_without_a_hold() -> None:
    rig = fleet_of()
    assert rig.reconciler.release("acme", True, rig.now) == "no List of provider acme is held"
    assert rig.reconciler.release("who", True, rig.now) == "no List of provider who is held"
    assert rig.ids() == ids(FLEET)


def test_the_guard_can_be_turned_off() -> None:
    rig = fleet_of(settings=ShardSettings(rails=RailSettings(list_guard=False)))
    rig.lists()
    rig.lists()
    assert rig.ids() == []


def test_providers_are_judged_apart() -> None:
    rig = Rig("acme", "other")
    rig.lists(*FLEET)
    rig.lists(*(record(f"o-{i:02d}") for i in range(20)), provider="other")
    rig.lists(provider="other")
    assert [held.subject for held in rig.reconciler.quarantines()] == ["other"]
    assert rig.count("list_quarantined", provider="acme") == 0
