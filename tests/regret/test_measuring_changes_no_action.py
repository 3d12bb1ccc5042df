"""The law of what is off the cycle's path: a fleet whose regret is measured after every cycle acts
as one that is never measured, to the byte."""

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.journal.digests import output_digest
from bigfleet.journal.recorder import FinishedCycle, Recorder
from bigfleet.model.regret import Regret
from bigfleet.regret.meter import regret_of
from bigfleet.shard.what_if_worker import REGRET, answered
from bigfleet.wire.regrets import read_regret
from tests.journal.lives import LivingFleet

CYCLES = 12


def as_the_shard_measures(finished: FinishedCycle) -> Regret:
    """What its process is sent, and what that answers."""
    records = Recorder("shard-0", 3, "0.3.0").input_alone(finished.given)
    code, content = answered({"question": REGRET, "name": "a cycle"}, [b"", *records])
    assert code == ""
    return read_regret(content)


def measured(cycles: Iterator[FinishedCycle]) -> Iterator[FinishedCycle]:
    """Also in place, on the very records that the next cycle begins with."""
    for finished in cycles:
        assert as_the_shard_measures(finished).is_measured
        assert regret_of(finished.decision).is_measured
        yield finished


@settings(max_examples=15)
@given(seed=st.integers(0, 2**40))
def test_a_fleet_that_is_measured_acts_to_the_byte_as_one_that_is_not(seed: int) -> None:
    on = [output_digest(each.decision) for each in measured(LivingFleet(seed).cycles(CYCLES))]
    off = [output_digest(each.decision) for each in LivingFleet(seed).cycles(CYCLES)]
    assert on == off


@settings(max_examples=15)
@given(seed=st.integers(0, 2**40))
def test_the_process_measures_what_was_decided_here(seed: int) -> None:
    for finished in LivingFleet(seed).cycles(3):
        there, here = as_the_shard_measures(finished), regret_of(finished.decision)
        assert (there.greedy_per_hour, there.bound_per_hour) == (
            here.greedy_per_hour,
            here.bound_per_hour,
        )
        assert (there.cycle, there.at) == (finished.given.cycle, finished.given.at)
