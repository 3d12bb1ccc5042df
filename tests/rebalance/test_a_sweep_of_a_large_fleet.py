"""A sweep of a large fleet comes in pieces, finds what one at once finds, asks nothing twice."""

from collections import Counter
from itertools import product

import pytest

from bigfleet.coordinator.rebalancing import sweeps
from bigfleet.coordinator.rebalancing.shortages import MachineShape
from bigfleet.coordinator.rebalancing.sweeps import Sweep
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, ZONE_KEY, Operator, Requirement
from tests.rebalance.fleets import Fleet, rules_of

FINGERPRINTS = [f"web-{number}" for number in range(6)]


def fleet_short_of_much() -> Fleet:
    """Two shards are short of six things each, which two others have."""
    fleet = Fleet(rules_of(donor_rate=1.0), a=0, b=0, c=30, d=20)
    for shard, (number, name) in product("ab", enumerate(FINGERPRINTS)):
        fleet.demand(shard, 1 + number, name, priority=number % 3)
    fleet.settle()
    fleet.run(9)
    for _ in range(2):
        for each in fleet.shards.values():
            fleet.talk(each, rounds=1)
    return fleet


def swept_in_pieces(fleet: Fleet, most: int) -> int:
    """How many pieces it took."""
    sweep, pieces = Sweep(), 1
    while not fleet.transact(lambda book, draft: sweep.piece(book, draft, most)):
        pieces += 1
    return pieces


@pytest.mark.parametrize("most", [1, 5, 100])
def test_it_opens_the_same_transfers_however_large_its_pieces_are(most: int) -> None:
    at_once, in_pieces = fleet_short_of_much(), fleet_short_of_much()
    at_once.sweep()
    pieces = swept_in_pieces(in_pieces, most)
    assert pieces == -(-12 // most)
    assert len(at_once.all()) == 12
    assert in_pieces.all() == at_once.all()


def test_what_keeps_machines_is_counted_over_all_pieces() -> None:
    fleet = fleet_short_of_much()
    fleet.sweep()
    swept_in_pieces(fleet, 5)
    assert fleet.blocked("open") == 12


def test_it_opens_no_more_than_a_sweep_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "MOST_ROWS", 4)
    at_once, in_pieces = fleet_short_of_much(), fleet_short_of_much()
    at_once.sweep()
    swept_in_pieces(in_pieces, 2)
    assert 1 <= len(in_pieces.all()) <= 4
    assert in_pieces.all() == at_once.all()


def test_a_shortfall_that_has_gone_meanwhile_is_left_alone() -> None:
    fleet, sweep = fleet_short_of_much(), Sweep()
    assert not fleet.transact(lambda book, draft: sweep.piece(book, draft, 1))
    for name in FINGERPRINTS:
        fleet.demand("b", 0, name)
    fleet.run(1)
    fleet.talk(fleet.shards["b"], rounds=1)
    while not fleet.transact(lambda book, draft: sweep.piece(book, draft, 1)):
        """The rest of it."""
    assert {each.to_shard for each in fleet.all()} == {"a"}


def test_whether_two_shapes_go_together_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fleet that has run out of something: everybody is a donor that is short itself."""
    names = [f"s{number:02d}" for number in range(12)]
    fleet = Fleet(rules_of(donor_rate=1.0, age_cycles=1), **dict.fromkeys(names, 5))
    kind = (Requirement.of(INSTANCE_TYPE_KEY, Operator.IN, ["m"]),)
    for name in names:
        fleet.add(name, 5, kind="other")
        for number, fingerprint in enumerate(FINGERPRINTS):
            zone = Requirement.of(ZONE_KEY, Operator.NOT_IN, [f"nowhere-{number}"])
            fleet.demand(name, 40, fingerprint, requirements=(*kind, zone))
    fleet.settle()
    fleet.run(5)
    for _ in range(2):
        for shard in fleet.shards.values():
            fleet.talk(shard, rounds=1)
    asked: Counter[tuple[str, str]] = Counter()
    would_serve = MachineShape.would_serve

    def counted(shape: MachineShape, other: MachineShape) -> bool:
        asked[shape.name, other.name] += 1
        return would_serve(shape, other)

    monkeypatch.setattr(MachineShape, "would_serve", counted)
    swept_in_pieces(fleet, 7)
    assert fleet.blocked("margin") == len(names) * len(FINGERPRINTS)
    assert set(asked.values()) == {1}
    assert len({shape for shape, _ in asked}) == len(FINGERPRINTS)
