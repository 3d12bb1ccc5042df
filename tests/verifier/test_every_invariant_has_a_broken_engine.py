"""Each invariant is broken by an engine, and the verifier stops exactly what broke it."""

from dataclasses import replace

import pytest

from bigfleet.model.actions import ActionKind
from bigfleet.model.fleet import FleetMachine, Marks
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.memory import ReservationKind
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.requirements import Requirement
from bigfleet.model.resources import Resources
from bigfleet.verifier.facts import INCIDENTS, Fence, Invariant
from bigfleet.verifier.limits import RecentReclaims
from bigfleet.verifier.policy import Policy, policy_of
from bigfleet.verifier.verify import verify
from tests.verifier.bench import large_batch
from tests.verifier.broken_engines import (
    LOW,
    TRAINING,
    WAITING,
    Engine,
    also,
    batch,
    decision_of,
    fleet,
    instead,
    releases,
    vetoes,
)
from tests.worlds import gpus
from tests.worlds.fleets import NOW, memory_of, reserved

B, P = ActionKind.BOOTSTRAP, ActionKind.PROVISION
R, X, D = ActionKind.RECLAIM, ActionKind.PREEMPT, ActionKind.DELETE
V = Invariant


def slots(*numbers: int) -> list[FleetMachine]:
    """Beside slot-1, which the Need of shop takes."""
    return [gpus.host(f"slot-{i}", MachineState.SPECULATIVE, price=3.0) for i in numbers]


def test_the_engine_asks_for_every_kind_and_nothing_is_vetoed() -> None:
    sound = batch(fleet())
    assert {action.kind for action in sound.actions} == set(ActionKind)
    assert vetoes(sound) == {}


BROKEN: dict[str, tuple[Engine, str, Invariant, str]] = {
    "acts on a machine twice": (also(B), "idle-1", V.V1, "another action"),
    "acts on a machine that is not there": (
        instead(P, machine="ghost"),
        "ghost",
        V.V1,
        "no such machine",
    ),
    "reclaims what is not in use": (also(R, machine="metal-1"), "metal-1", V.V1, "it is Idle"),
    "reclaims from a cluster that does not have it": (
        instead(R, cluster="shop"),
        "left-0",
        V.V1,
        "bound to gone",
    ),
    "deletes bare metal": (releases("metal-1"), "metal-1", V.V2, "BareMetal"),
    "preempts what is higher": (
        also(X, machine="web-0", cluster="shop"),
        "web-0",
        V.V4,
        "its priority is 100000",
    ),
    "says that its preemptor is higher than it is": (
        instead(X, preemptor_priority=2_000_000),
        "low-1",
        V.V4,
        "says priority 2000000",
    ),
    "preempts for no Need": (instead(X, need=None), "low-1", V.V4, "no Need"),
    "acquires what does not match": (
        instead(B, machine="metal-1"),
        "metal-1",
        V.V5,
        "instance-type IN a3",
    ),
    "acquires for another cluster": (instead(P, cluster="ml"), "slot-1", V.V5, "one of shop"),
    "acquires for no Need": (instead(P, need=None), "slot-1", V.V5, "no Need"),
}


@pytest.mark.parametrize(
    ("engine", "machine", "invariant", "said"), BROKEN.values(), ids=BROKEN.keys()
)
def test_an_engine_is_stopped_that(
    engine: Engine, machine: str, invariant: Invariant, said: str
) -> None:
    found = vetoes(batch(fleet(), engine))
    assert list(found) == [machine]
    assert found[machine].invariant is invariant
    assert said in found[machine].what
    assert found[machine].incident is (invariant in INCIDENTS)


def test_v1_a_machine_of_another_shard_is_left_alone() -> None:
    sound = batch(fleet())
    strange = replace(sound, owned=[action.kind is not R for action in sound.actions])
    assert {veto.invariant for veto in vetoes(strange).values()} == {V.V1}
    assert len(vetoes(strange)) == 8


OWNED = (CapacityType.BARE_METAL, CapacityType.RESERVED, CapacityType.UNSPECIFIED)


def idle_for_an_hour(capacity: CapacityType) -> FleetMachine:
    marks = Marks(idle_since=NOW - 3600 * SECOND)
    return gpus.host("kept", instance_type="m5", capacity_type=capacity, marks=marks)


@pytest.mark.parametrize("capacity", OWNED)
def test_v2_an_engine_that_deletes_what_is_owned_or_of_a_type_not_told(
    capacity: CapacityType,
) -> None:
    given = fleet(idle_for_an_hour(capacity))
    assert "kept" not in {action.machine for action in decision_of(given).actions}
    found = vetoes(batch(given, releases("kept")))
    assert list(found) == ["kept"]
    assert (found["kept"].invariant, found["kept"].incident) == (V.V2, True)
    assert f"{capacity.label} capacity is never deleted" in found["kept"].what


@pytest.mark.parametrize("capacity", [each for each in CapacityType if each not in OWNED])
def test_v2_what_is_rented_by_the_hour_may_go(capacity: CapacityType) -> None:
    sound = batch(fleet(idle_for_an_hour(capacity)))
    assert {action.machine for action in sound.actions if action.kind is D} == {"old-1", "kept"}
    assert vetoes(sound) == {}


@pytest.mark.parametrize(("reported", "held"), [(False, False), (True, True)])
def test_v3_an_engine_that_reclaims_from_a_cluster_whose_demand_is_not_known(
    reported: bool, held: bool
) -> None:
    sound = batch(fleet())
    unknown = replace(sound.clusters["gone"], reported=reported, held=held)
    found = vetoes(replace(sound, clusters={"gone": unknown}))
    assert sorted(found) == [f"left-{i}" for i in range(8)]
    assert {veto.invariant for veto in found.values()} == {V.V3}
    assert not any(veto.incident for veto in found.values())


def test_v4_a_claim_that_cannot_be_does_not_make_a_victim_lower() -> None:
    """The engine says that a low Need claims the machine: it does not match, so it cannot."""
    sound = batch(fleet(), also(X, machine="left-0", cluster="gone"))
    low = next(i for i, need in enumerate(sound.needs) if need.row == LOW)
    lied = replace(sound, claimant=[*sound.claimant[:-1], low])
    found = vetoes(lied)["left-0"]
    # It is also reclaimed: the second action on it is what V1 stops first.
    assert found.invariant is V.V1
    alone = replace(
        lied,
        **{
            name: getattr(lied, name)[-1:]
            for name in ("actions", "shape", "need", "claimant", "stamped_priority", "bound_to")
        },
        **{name: getattr(lied, name)[-1:] for name in ("state", "owned", "seen", "now")},
    )
    assert vetoes(alone)["left-0"].what.endswith("is said to claim it, and cannot")


def test_v5_the_matcher_is_the_verifiers_own(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = batch(fleet(), instead(B, machine="metal-1"))
    monkeypatch.setattr(Requirement, "met_by", lambda *_: True)
    monkeypatch.setattr(Resources, "covers", lambda *_: True)
    assert vetoes(wrong)["metal-1"].invariant is V.V5


def test_v6_an_engine_without_the_cap_of_a_cluster_and_cycle() -> None:
    found = vetoes(batch(fleet()), Policy(reclaim_zone_fraction=0, reclaim_cap_fraction=0.25))
    assert sorted(found) == [f"left-{i}" for i in range(2, 8)]
    assert {veto.invariant for veto in found.values()} == {V.V6}
    assert found["left-2"].what == "cluster gone loses at most 2 machines in a cycle"


#: The cap of a cycle allows everything, that of a zone half of it.
UNHURRIED = Policy(reclaim_cap_fraction=1.0)


def test_v6_where_the_cap_is_turned_off_so_is_that_of_a_zone() -> None:
    assert vetoes(batch(fleet()), Policy()) == {}


def test_v6_short_cycles_do_not_empty_a_zone() -> None:
    """Half of its machines within a minute, in however many cycles."""
    recent, sound = RecentReclaims(), batch(fleet())
    recent.started([("gone", "b")] * 3, NOW - 59 * 10**9)
    found = vetoes(sound, UNHURRIED, recent)
    assert sorted(found) == [f"left-{i}" for i in range(1, 8)]
    assert "at most 4 of its 8 machines in zone b within 60 s" in found["left-7"].what
    later = vetoes(replace(sound, at=NOW + 2 * 10**9), UNHURRIED, recent)
    assert sorted(later) == [f"left-{i}" for i in range(4, 8)]


def test_v6_preempts_are_never_vetoed_for_volume() -> None:
    tight = Policy(reclaim_zone_fraction=0.01, reclaim_cap_fraction=0.01)
    found = vetoes(batch(fleet()), tight)
    assert "low-1" not in found


def test_v7_nothing_is_given_back_in_a_freeze_window() -> None:
    # The worlds' clock: Tuesday, 22:13 UTC.
    open_now = policy_of(["0 22 * * tue for 1h cluster=gone", "0 3 * * * for 1h"], 0, 0)
    found = vetoes(batch(fleet()), open_now)
    assert sorted(found) == [f"left-{i}" for i in range(8)]
    assert found["left-0"].invariant is V.V7
    assert "is open for 47 min more" in found["left-0"].what
    everything = policy_of(["0 22 * * tue for 1h"], 0, 0)
    assert "old-1" in vetoes(batch(fleet()), everything)


def test_v8_provisions_beyond_the_ceiling_go_lowest_precedence_first() -> None:
    sound = batch(fleet(*slots(3)))
    bought = [a.machine for a in sound.actions if a.kind is P]
    assert bought == ["slot-1", "slot-3"]
    for ceiling, vetoed in ((0.0, []), (100.0, []), (89.0, ["slot-3"]), (80.0, bought)):
        found = vetoes(sound, Policy(spend_ceiling=ceiling, reclaim_zone_fraction=0))
        assert (ceiling, sorted(found)) == (ceiling, vetoed)
        assert {veto.invariant for veto in found.values()} <= {V.V8}
    found = vetoes(sound, Policy(spend_ceiling=80.0))
    assert "over the ceiling of $80.00/h" in found["slot-1"].what


def test_v8_of_two_needs_the_lower_one_waits() -> None:
    sound = batch(fleet(*slots(3, 4)))
    served = {a.machine: a.cluster for a in sound.actions if a.kind is P}
    assert set(served.values()) == {"shop", "ml", "batch"}
    found = vetoes(sound, Policy(spend_ceiling=sound.spend_per_hour + 6, reclaim_zone_fraction=0))
    assert {served[machine] for machine in found} == {"batch"}


@pytest.mark.parametrize(
    ("decided", "incident"),
    [(Fence(1, 5), True), (Fence(2, 6), True), (Fence(2, 4), False)],
    ids=["an older life", "a term that fell", "a coordinator elected meanwhile"],
)
def test_v9_what_was_decided_under_another_fence_is_not_done(
    decided: Fence, incident: bool
) -> None:
    stale = replace(batch(fleet()), decided_under=decided, current=Fence(2, 5))
    found = vetoes(stale)
    assert len(found) == len(stale.actions)
    assert {(veto.invariant, veto.incident) for veto in found.values()} == {(V.V9, incident)}


def test_v10_a_machine_that_has_changed_is_decided_anew() -> None:
    sound = batch(fleet())
    now = list(sound.now)
    now[0] += 1
    found = vetoes(replace(sound, now=now))
    assert list(found) == [sound.actions[0].machine]
    assert next(iter(found.values())).invariant is V.V10


def test_v11_a_need_that_is_covered_takes_no_machine_more() -> None:
    found = vetoes(batch(fleet(*slots(2, 3, 4)), also(P, machine="slot-4")))
    assert {name: veto.invariant for name, veto in found.items()} == {"slot-4": V.V11}


def test_v11_what_a_need_has_already_counts() -> None:
    """WEB asks for four and has two: a third machine more is one too many."""
    sound = batch(fleet())
    covered = [
        replace(need, credited=tuple((shape, 3) for shape, _ in need.credited))
        for need in sound.needs
    ]
    found = vetoes(replace(sound, needs=covered))
    assert {veto.invariant for veto in found.values()} == {V.V11}


FREED = gpus.host("freed")


def test_v12_a_freed_victim_goes_to_its_holder() -> None:
    given = fleet(FREED, reservations=True)
    decision = decision_of(given)
    place = {a.machine: a.cluster for a in decision.actions if a.kind is B}
    assert "freed" in place
    assert vetoes(batch(given)) == {}


@pytest.mark.parametrize(
    ("kind", "taken_for", "stopped"),
    [
        (ReservationKind.PREEMPTION, LOW, True),
        (ReservationKind.PREEMPTION, WAITING, False),
        (ReservationKind.PREEMPTION, TRAINING, False),
        (ReservationKind.TRANSFER_IN, LOW, True),
        (ReservationKind.TRANSFER_IN, TRAINING, False),
        (ReservationKind.OFFER, WAITING, True),
    ],
    ids=["lower", "holder", "higher", "another, lower", "another, higher", "offered"],
)
def test_v12_who_may_take_a_reserved_machine(
    kind: ReservationKind, taken_for: Need, stopped: bool
) -> None:
    given = fleet(FREED, reservations=True)
    given = replace(given, memory=memory_of(reserved("freed", WAITING, kind=kind)))
    decision = decision_of(replace(given, memory=memory_of()))
    needs = [verdict.need for verdict in decision.verdicts]
    row = next(i for i, need in enumerate(needs) if need.key == taken_for.key)
    taken = instead(B, machine="freed", need=row, cluster=taken_for.cluster)
    first = next(a for a in taken(decision) if a.machine == "freed")
    found = vetoes(batch(given, lambda _: [first]))
    assert {veto.invariant for veto in found.values()} == ({V.V12} if stopped else set())


def test_nothing_is_vetoed_in_the_large_batch_of_the_bench() -> None:
    assert verify(large_batch(), UNHURRIED, RecentReclaims()) == {}
