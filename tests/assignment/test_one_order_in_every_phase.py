"""U22: credit, acquisition and preemption visit Needs in one order, buckets included."""

from dataclasses import replace

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need
from tests.worlds import gpus
from tests.worlds.fleets import UNREPORTED, actions_of, decided, verdict_of
from tests.worlds.racks import cpus, m5, profile

CONFIGURED = MachineState.CONFIGURED


def plain(cluster: str, dollars: float, arrival: int) -> Need:
    wanted = profile(1000, interruption_dollars=dollars)
    return Need(cluster, wanted, cpus(4), cpus(4), arrival)


EARLIER, DEARER = plain("c", 1, arrival=1), plain("c", 4096, arrival=2)


def test_bound_machines_are_credited_to_the_higher_bucket_first() -> None:
    """One machine for two Needs of one priority: the later one loses more by an interruption."""
    bound = m5("bound", CONFIGURED, cluster="c")
    decision = decided([bound], [EARLIER, DEARER])
    assert verdict_of(decision, 0).claimed == ()
    assert verdict_of(decision, 1).claimed == ("bound",)


def test_at_equal_precedence_the_earlier_need_is_credited_first() -> None:
    late = replace(EARLIER, arrival_unix_nanos=9, group="late")
    decision = decided([m5("bound", CONFIGURED, cluster="c")], [late, EARLIER])
    assert verdict_of(decision, 0).claimed == ()
    assert verdict_of(decision, 1).claimed == ("bound",)


def test_victims_go_to_the_higher_bucket_first() -> None:
    low, high = (
        Need("train", gpus.profile(gpus.MILLION, interruption=bucket), gpus.UNIT, gpus.UNIT)
        for bucket in (1, 27)
    )
    decision = decided([gpus.bound("v", "batch", 0)], [low, high], options=UNREPORTED)
    (victim,) = actions_of(decision, ActionKind.PREEMPT)
    assert (victim.machine, victim.need) == ("v", 1)
    assert verdict_of(decision, 0).preempts == 0
