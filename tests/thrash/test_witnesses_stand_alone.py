"""The law of witnesses: replayed alone a witness shows its finding, and nothing in it is idle."""

from collections.abc import Sequence
from random import Random

import pytest

from bigfleet.model.thrash import ThrashKind, TraceAction
from bigfleet.thrash.detector import Sighting
from bigfleet.thrash.findings import findings_of
from tests.nightly import IS_NIGHTLY
from tests.thrash.traces import Told, need

SEEDS = range(1000 if IS_NIGHTLY else 60)
NEEDS = [need(cluster, profile) for cluster in ("a", "b", "c") for profile in ("p", "q")]


def random_trace(chance: Random, steps: int = 200) -> Told:
    """Moves that no engine would make, of few machines and Needs, so that all kinds occur."""
    told = Told()
    for _ in range(steps):
        machine, first, second = f"m-{chance.randrange(6)}", *chance.sample(NEEDS, 2)
        match chance.randrange(7):
            case 0 | 1:
                told.bind(machine, first, priority=chance.randrange(3))
            case 2:
                told.reclaim(machine, first)
            case 3:
                told.preempt(machine, first, second, chance.randint(1, 3), chance.randrange(3))
            case 4:
                told.drained(machine)
            case 5:
                told.release(machine)
            case _:
                told.buy(machine, first)
        told.wait(chance.choice((0, 1, 60, 300)))
    return told


@pytest.mark.parametrize("seed", SEEDS)
def test_a_witness_shows_its_finding_when_it_is_replayed_alone(seed: int) -> None:
    for seen in random_trace(Random(seed)).found:
        assert (seen.kind, seen.last.name) in shown_by(seen.witness), seen


@pytest.mark.parametrize("seed", SEEDS)
def test_without_any_one_of_its_actions_a_witness_does_not_show_it(seed: int) -> None:
    for seen in random_trace(Random(seed)).found:
        for place in range(len(seen.witness)):
            if not is_theft(seen, place):
                rest = (*seen.witness[:place], *seen.witness[place + 1 :])
                assert (seen.kind, seen.last.name) not in shown_by(rest), (place, seen)


def shown_by(trace: Sequence[TraceAction]) -> set[tuple[ThrashKind, str]]:
    return {(each.kind, each.last.name) for each in findings_of(trace)}


def is_theft(seen: Sighting, place: int) -> bool:
    """How a lower Need took a victim is told as well, although the victim alone is enough."""
    return seen.kind is ThrashKind.REPEATED and seen.witness[place].preemptor is None


def test_every_kind_occurs_in_random_traces() -> None:
    kinds = {kind for seed in SEEDS for kind in random_trace(Random(seed)).kinds}
    assert kinds == set(ThrashKind) - {ThrashKind.UNSPECIFIED}
