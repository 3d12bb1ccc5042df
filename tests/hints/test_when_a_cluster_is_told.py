"""Hints: told when numbers change, not too often, now and then anyway, all in a new session."""

from dataclasses import replace

import numpy as np
import pytest

from bigfleet.engine.decide import decide
from bigfleet.model.batches import NEVER, MachineBatch, Offering
from bigfleet.model.fleet import Held, HeldBy, Marks
from bigfleet.model.machines import Machine, MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code
from bigfleet.model.session_frames import AvailableCapacityUpdate, Confidence
from bigfleet.shard import hints
from bigfleet.shard.settings import ReconcileSettings
from tests.shard_parts import Clusters, parts_of
from tests.worlds.fleets import NOW, PHASES
from tests.worlds.gpus import UNIT, host, plain, slot

Told = tuple[str, int, Confidence, float]
NOTHING = (0, Confidence.NONE, 0.0)


class Rig:
    """A shard's machines and demand, decided on again and again."""

    def __init__(self, *clusters: str) -> None:
        self.parts = parts = parts_of(providers={"east": "east:1", "west": "west:1"})
        self.inventory, self.needs = parts.machines.inventory, parts.needs
        self.hints = parts.hints
        self.clusters = Clusters(parts, *clusters)

    def add(self, *machines: Machine) -> None:
        for machine in machines:
            self.inventory.insert(machine)

    def ask(self, cluster: str, *priorities: int) -> None:
        self.needs.replace(cluster, [plain(cluster, p, 1) for p in priorities])

    def told(self, after: float = 0) -> list[Told]:
        """What clusters are told in a cycle at that time."""
        at = NOW + round(after * SECOND)
        machines, demand = self.inventory.snapshot(), self.needs.snapshot()
        self.hints.on_decision(decide(machines, demand, EngineMemory(), PHASES, at), at)
        return [(c, f.available_count, f.confidence, f.cost_per_hour) for c, f in self.sent()]

    def sent(self) -> list[tuple[str, AvailableCapacityUpdate]]:
        read = self.clusters.read()
        return [(cluster, f) for cluster, f in read if isinstance(f, AvailableCapacityUpdate)]

    def break_line(self, provider: str) -> None:
        """Its breaker opens."""
        for _ in range(ReconcileSettings().breaker_failures):
            self.parts.reconciler.on_call_result(provider, Code.UNAVAILABLE, NOW)


def slots_listed_by(source: str, *names: str) -> tuple[MachineBatch, str]:
    """Speculative machines as they come with a provider's List."""
    sample, size = slot("", 4.0).machine, len(names)
    offering = Offering(sample.capacity_type, "a3", resources=UNIT, price_per_hour=4.0)
    unbound = np.full(size, -1, np.int32)
    batch = MachineBatch(
        ids=names,
        offerings=[offering],
        clusters=[],
        stamps=[],
        offering_of_machine=np.zeros(size, np.int32),
        state_of_machine=np.full(size, MachineState.SPECULATIVE, np.int8),
        cluster_of_machine=unbound,
        stamp_of_machine=unbound,
        idle_since_of_machine=np.full(size, NEVER, np.int64),
    )
    return batch, source


def list_slots(rig: Rig, source: str, *names: str) -> None:
    batch, source = slots_listed_by(source, *names)
    rig.inventory.adopt(batch, source=source)


def test_a_profile_that_is_asked_for_is_told_at_once() -> None:
    rig = Rig("shop")
    rig.add(host("m1", price=3.0).machine, host("m2", price=2.0).machine, slot("s1", 1.0).machine)
    rig.ask("shop", 100)
    assert rig.told() == [("shop", 3, Confidence.HIGH, 2.0)]


def test_a_profile_without_supply_is_told_that_there_is_none() -> None:
    rig = Rig("shop")
    rig.ask("shop", 100)
    assert rig.told() == [("shop", *NOTHING)]


def test_the_frame_names_the_profile() -> None:
    rig = Rig("shop")
    rig.ask("shop", 100)
    rig.hints.on_decision(
        decide(rig.inventory.snapshot(), rig.needs.snapshot(), EngineMemory(), PHASES, NOW),
        NOW,
    )
    [(_, frame)] = rig.sent()
    wanted = plain("shop", 100, 1).profile
    assert frame.supersedes_key == f"available:{wanted.fingerprint}"
    assert frame.requirements == wanted.requirements


def test_without_change_nothing_is_told_for_five_minutes() -> None:
    rig = Rig("shop")
    rig.ask("shop", 100)
    rig.told()
    assert [rig.told(after=second) for second in range(1, 300, 23)] == [[]] * 13
    assert rig.told(after=300) == [("shop", *NOTHING)]
    assert rig.told(after=301) == []


def test_a_change_waits_for_the_interval() -> None:
    rig = Rig("shop")
    rig.ask("shop", 100)
    rig.told()
    rig.add(host("m1").machine)
    assert rig.told(after=4.9) == []
    assert rig.told(after=5) == [("shop", 1, Confidence.HIGH, 6.0)]


def test_a_change_after_a_quiet_time_is_told_at_once() -> None:
    rig = Rig("shop")
    rig.ask("shop", 100)
    rig.told()
    rig.add(host("m1").machine)
    assert rig.told(after=60) == [("shop", 1, Confidence.HIGH, 6.0)]


def test_a_price_alone_is_a_change() -> None:
    rig = Rig("shop")
    rig.add(host("m1", price=3.0).machine)
    rig.ask("shop", 100)
    rig.told()
    rig.inventory.apply(replace(host("m1").machine, price_per_hour=2.5))
    assert rig.told(after=5) == [("shop", 1, Confidence.HIGH, 2.5)]


def test_a_new_profile_is_told_and_the_known_ones_are_not_told_again() -> None:
    rig = Rig("shop", "bank")
    rig.ask("shop", 100)
    rig.told()
    rig.ask("shop", 100, 200)
    rig.ask("bank", 100)
    assert sorted(rig.told(after=1)) == [("bank", *NOTHING), ("shop", *NOTHING)]
    assert rig.told(after=2) == []


def test_a_new_session_is_told_everything_again() -> None:
    rig = Rig("shop", "bank")
    rig.ask("shop", 100)
    rig.ask("bank", 100)
    rig.told()
    rig.hints.on_session_lost("shop")
    assert rig.told(after=1) == [("shop", *NOTHING)]


def test_a_cluster_without_session_is_told_nothing_and_later_everything() -> None:
    rig = Rig("bank")
    rig.ask("shop", 100)
    assert rig.told() == []
    rig.clusters.connect("shop")
    assert rig.told(after=1) == [("shop", *NOTHING)]


def test_confidence_follows_the_health_of_the_providers() -> None:
    rig = Rig("shop")
    list_slots(rig, "east", "s1")
    rig.ask("shop", 100)
    assert rig.told() == [("shop", 1, Confidence.MEDIUM, 4.0)]
    rig.break_line("east")
    assert rig.told(after=5) == [("shop", 1, Confidence.LOW, 4.0)]
    list_slots(rig, "west", "s2")
    assert rig.told(after=10) == [("shop", 2, Confidence.MEDIUM, 4.0)]
    rig.add(host("m1", price=9.0).machine)
    assert rig.told(after=15) == [("shop", 3, Confidence.HIGH, 9.0)]


def test_machines_that_are_held_back_are_not_available() -> None:
    rig = Rig("shop")
    rig.inventory.insert(slot("s1", 1.0).machine, Marks(held=Held(HeldBy.BACKOFF, NOW + 9)))
    rig.ask("shop", 100)
    assert rig.told() == [("shop", *NOTHING)]


def test_the_risk_of_interruption_is_part_of_the_cost() -> None:
    rig = Rig("shop")
    rig.add(slot("cheap", 1.0, probability=0.5).machine, slot("safe", 5.0).machine)
    rig.ask("shop", 100)
    assert rig.told() == [("shop", 2, Confidence.MEDIUM, 5.0)]


def test_many_hints_are_told_at_a_bounded_rate_and_none_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hints, "_AT_ONCE", 2)
    monkeypatch.setattr(hints, "_PER_SECOND", 1)
    rig = Rig("a", "b", "c", "d", "e")
    for cluster in "abcde":
        rig.ask(cluster, 100)
    told = [rig.told(after=second) for second in (0, 0, 1, 3)]
    assert [len(each) for each in told] == [2, 0, 1, 2]
    assert sorted(name for each in told for name, *_ in each) == ["a", "b", "c", "d", "e"]


def test_who_waits_longest_is_told_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints, "_AT_ONCE", 1)
    monkeypatch.setattr(hints, "_PER_SECOND", 1)
    rig = Rig("a", "b")
    rig.ask("a", 100)
    rig.ask("b", 100)
    [(first, *_)] = rig.told()
    [(second, *_)] = rig.told(after=1)
    rig.add(host("m1").machine)
    assert [name for name, *_ in rig.told(after=60)] == [first]
    assert [name for name, *_ in rig.told(after=61)] == [second]
