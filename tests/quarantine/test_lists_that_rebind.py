"""A List that gives many bound machines to other clusters, or frees many that serve, is held."""

from dataclasses import replace

import pytest

from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code, MachineRecord, Rejected
from bigfleet.model.shard_views import Quarantine, QuarantineKind
from bigfleet.shard.events import CallAnswered
from bigfleet.shard.instructions import CallProvider, GetCall
from bigfleet.shard.settings import RailSettings, ShardSettings
from tests.reconciling.rig import CONFIGURED, DRAINING, IDLE, SPECULATIVE, Rig, record

#: 20 bound machines of shop, and 10 that are free.
BOUND = [f"m-{number:02d}" for number in range(20)]
SHOP = [record(name, CONFIGURED) for name in BOUND]
FREE = [record(f"free-{number}") for number in range(10)]


def listed(moved: int = 0, freed: int = 0, to: str = "ml") -> list[MachineRecord]:
    """The fleet with the first machines moved to another cluster and the last ones freed."""
    kept = SHOP[moved : len(SHOP) - freed]
    given = [record(name, CONFIGURED, cluster=to) for name in BOUND[:moved]]
    idle = [record(name, IDLE) for name in BOUND[len(BOUND) - freed :]] if freed else []
    return [*given, *kept, *idle, *FREE]


def fleet(*, asks: bool = False, settings: ShardSettings | None = None) -> Rig:
    rig = Rig(asks=asks, settings=settings)
    rig.lists(*listed())
    rig.effects.taken()
    rig.sent.clear()
    return rig


def clusters(rig: Rig) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in BOUND:
        cluster = rig.machine(name).cluster
        found[cluster] = found.get(cluster, 0) + 1
    return found


def later(rig: Rig, seconds: float, *records: MachineRecord) -> None:
    rig.wait(seconds - 1)
    rig.lists(*records)


def gets(rig: Rig) -> list[CallProvider]:
    asked = [each for each in rig.effects.taken() if isinstance(each, CallProvider)]
    assert all(isinstance(each.call, GetCall) for each in asked)
    return asked


@pytest.mark.parametrize(
    "records", [listed(moved=20), listed(moved=3), listed(freed=20), listed(freed=3)]
)
def test_more_than_a_tenth_is_held_and_no_cluster_hears_of_it(records: list[MachineRecord]) -> None:
    rig = fleet()
    for _ in range(9):
        rig.lists(*records)
    assert clusters(rig) == {"shop": 20}
    assert rig.told() == []
    assert rig.count("list_quarantined", provider="acme") == 9
    assert rig.logged() == ["list_quarantined"]


def test_a_tenth_may_be_freed() -> None:
    rig = fleet()
    rig.lists(*listed(freed=2))
    assert clusters(rig) == {"shop": 18, "": 2}
    assert rig.reconciler.quarantines() == []


def test_a_tenth_may_move_once_a_get_confirms_it() -> None:
    rig = fleet(asks=True)
    rig.lists(*listed(moved=2))
    assert clusters(rig) == {"shop": 20}
    for call in gets(rig):
        said = record(call.call.machine_id, CONFIGURED, cluster="ml")
        rig.calls.on_answer(CallAnswered(call, said, rig.now))
    assert clusters(rig) == {"ml": 2, "shop": 18}
    assert rig.reconciler.quarantines() == []


def test_a_move_that_the_get_denies_is_not_believed() -> None:
    rig = fleet(asks=True)
    rig.lists(*listed(moved=1))
    (call,) = gets(rig)
    rig.calls.on_answer(CallAnswered(call, record(BOUND[0], CONFIGURED), rig.now))
    assert clusters(rig) == {"shop": 20}
    rig.lists(*listed(moved=1))
    assert len(gets(rig)) == 1


def test_a_provider_that_answers_no_get_is_believed_with_its_next_list() -> None:
    rig = fleet(asks=True)
    rig.lists(*listed(moved=1))
    (call,) = gets(rig)
    rig.calls.on_answer(CallAnswered(call, Rejected(Code.UNIMPLEMENTED, "no"), rig.now))
    assert clusters(rig) == {"shop": 20}
    rig.lists(*listed(moved=1))
    assert clusters(rig) == {"ml": 1, "shop": 19}


def test_two_of_five_are_more_than_one() -> None:
    """A small fleet is protected too: one machine may move, two may not."""
    rig = Rig()
    small = [record(name, CONFIGURED) for name in BOUND[:5]]
    rig.lists(*small)
    moved = [record(name, CONFIGURED, cluster="ml") for name in BOUND[:2]]
    rig.lists(*moved[:1], *small[1:])
    assert rig.machine(BOUND[0]).cluster == "ml"
    rig.lists(*moved[:1], *(record(n, CONFIGURED, cluster="ml") for n in BOUND[1:3]), *small[3:])
    assert rig.machine(BOUND[1]).cluster == "shop"
    assert len(rig.reconciler.quarantines()) == 1


def test_the_hold_names_what_was_seen() -> None:
    rig = fleet()
    rig.lists(*listed(moved=14, freed=3))
    since = rig.now
    assert rig.reconciler.quarantines() == [
        Quarantine(
            QuarantineKind.PROVIDER_LIST,
            "acme",
            20,
            3,
            1,
            3,
            since,
            since + 60 * SECOND,
            "of 20 bound machines 14 are listed for another cluster (14 from shop to ml) and 3 "
            "Configured ones as Idle, without an instruction of this shard",
        )
    ]


def test_what_every_list_says_for_a_minute_is_believed_and_nothing_else() -> None:
    rig = fleet()
    rig.lists(*listed(moved=20))
    later(rig, 30, *listed(moved=10))
    later(rig, 30, *listed(moved=12))
    assert clusters(rig) == {"ml": 12, "shop": 8}
    assert rig.reconciler.quarantines() == []


def test_what_is_confirmed_is_what_all_held_lists_said() -> None:
    rig = fleet()
    rig.lists(*listed(moved=10))
    later(rig, 30, *listed(moved=15))
    later(rig, 30, *listed(moved=15))
    assert clusters(rig) == {"ml": 10, "shop": 10}
    assert [each.consecutive for each in rig.reconciler.quarantines()] == [1]


def test_a_cluster_that_changes_from_list_to_list_is_never_believed() -> None:
    rig = fleet()
    for number in range(9):
        later(rig, 30, *listed(moved=20, to=f"ml-{number}"))
    assert clusters(rig) == {"shop": 20}


def test_a_good_list_ends_the_hold() -> None:
    rig = fleet()
    rig.lists(*listed(moved=20))
    later(rig, 9, *listed())
    assert rig.reconciler.quarantines() == []
    assert clusters(rig) == {"shop": 20}
    later(rig, 59, *listed(moved=20))
    later(rig, 1, *listed(moved=20))
    assert clusters(rig) == {"shop": 20}


def test_everything_else_of_a_held_list_is_taken_over() -> None:
    rig = fleet()
    dearer = record(BOUND[0], CONFIGURED, cluster="ml", price_per_hour=0.9)
    rig.lists(dearer, *listed(moved=20)[1:], record("new"))
    assert rig.machine(BOUND[0]).price_per_hour == 0.9
    assert rig.machine(BOUND[0]).cluster == "shop"
    assert "new" in rig.ids()


def test_held_machines_are_named_as_such() -> None:
    rig = fleet()
    rig.lists(*listed(moved=5))
    assert rig.reconciler.is_rebound(BOUND[0])
    assert not rig.reconciler.is_rebound(BOUND[9])
    rig.lists(*listed())
    assert not rig.reconciler.is_rebound(BOUND[0])


def test_what_the_shard_does_itself_is_not_a_surprise() -> None:
    """Drained machines become Idle, however many they are."""
    rig = fleet()
    for name in BOUND[10:]:
        rig.local(replace(rig.machine(name), state=DRAINING))
    rig.pending.update(BOUND[5:10])
    rig.lists(*listed(freed=15))
    assert rig.reconciler.quarantines() == []
    assert [rig.state(name) for name in BOUND[10:]] == [IDLE] * 10


def test_hosts_that_are_gone_are_not_held() -> None:
    """A spot market takes many at once, and the provider says so machine by machine."""
    rig = fleet()
    rig.lists(*(record(name, SPECULATIVE) for name in BOUND), *FREE)
    assert rig.state(BOUND[0]) is SPECULATIVE
    assert rig.reconciler.quarantines() == []


def test_a_list_of_changes_begins_a_hold_and_whole_lists_decide_about_it() -> None:
    rig = fleet()
    moved = listed(moved=20)[:20]
    rig.lists(*moved, whole=False)
    assert clusters(rig) == {"shop": 20}
    for _ in range(5):
        rig.lists(whole=False)
    assert [each.consecutive for each in rig.reconciler.quarantines()] == [1]
    later(rig, 60, *listed(moved=20))
    assert clusters(rig) == {"shop": 20}
    later(rig, 60, *listed(moved=20))
    assert clusters(rig) == {"ml": 20}


def test_an_administrator_may_believe_it() -> None:
    rig = fleet(asks=True)
    rig.lists(*listed(moved=14, freed=3))
    text = rig.reconciler.release("acme", True, rig.now)
    while rig.reconciler.continue_list("acme"):
        pass
    assert text == (
        "1 held Lists of acme were accepted; 14 machines are moved to another cluster and 3 freed"
    )
    assert clusters(rig) == {"ml": 14, "shop": 3, "": 3}
    assert rig.reconciler.quarantines() == []
    rig.lists(*listed(moved=14, freed=3))
    assert rig.reconciler.quarantines() == []


def test_an_administrator_may_discard_it() -> None:
    rig = fleet()
    rig.lists(*listed(moved=20))
    later(rig, 59, *listed(moved=20))
    text = rig.reconciler.release("acme", False, rig.now)
    assert text == "2 held Lists of acme were discarded; no binding was changed"
    later(rig, 10, *listed(moved=20))
    assert rig.reconciler.quarantines()[0].consecutive == 1
    assert clusters(rig) == {"shop": 20}


def test_a_list_that_loses_and_rebinds_is_held_for_both() -> None:
    rig = fleet()
    rig.lists(*listed(moved=15)[5:15])
    assert len(rig.ids()) == 30
    assert clusters(rig) == {"shop": 20}
    text = rig.reconciler.release("acme", True, rig.now)
    while rig.reconciler.continue_list("acme"):
        pass
    assert text == (
        "1 held Lists of acme were accepted; 20 machines are removed; 10 machines are moved to"
        " another cluster"
    )
    assert len(rig.ids()) == 10
    assert rig.reconciler.quarantines() == []


def test_the_guard_can_be_turned_off() -> None:
    rig = fleet(settings=ShardSettings(rails=RailSettings(list_guard=False)))
    rig.lists(*listed(moved=20))
    assert clusters(rig) == {"ml": 20}


def test_providers_are_judged_apart() -> None:
    rig = Rig("acme", "other")
    rig.lists(*listed())
    rig.lists(*(record(f"o-{i:02d}", CONFIGURED) for i in range(20)), provider="other")
    rig.lists(
        *(record(f"o-{i:02d}", CONFIGURED, cluster="ml") for i in range(20)), provider="other"
    )
    assert [held.subject for held in rig.reconciler.quarantines()] == ["other"]
    assert rig.count("list_quarantined", provider="acme") == 0
