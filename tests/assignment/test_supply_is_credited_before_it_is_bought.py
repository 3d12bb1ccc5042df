"""The pre-pass: what a cluster has or has ordered is attributed once, highest priority first."""

import pytest

from bigfleet.model.fleet import Marks
from bigfleet.model.machines import Assigned, MachineState
from tests.worlds import racks
from tests.worlds.fleets import PHASES, bootstrapped, decided, provisioned, verdict_of
from tests.worlds.racks import m5, small_need

CONFIGURED, CONFIGURING = MachineState.CONFIGURED, MachineState.CONFIGURING


def test_one_machine_is_credited_to_the_higher_of_two_needs() -> None:
    """K13."""
    needs = [small_need("c", 4, priority=100), small_need("c", 4, priority=500)]
    decision = decided([m5("m", CONFIGURED, cluster="c")], needs)
    low, high = verdict_of(decision, 0), verdict_of(decision, 1)
    assert (high.claimed, high.deficit) == (("m",), racks.cpus(0))
    assert (low.claimed, low.deficit) == ((), racks.cpus(4))


def test_a_bound_machine_of_another_type_is_not_credited() -> None:
    """K14."""
    bound = m5("m", CONFIGURED, cluster="c", instance_type="t3.large")
    assert verdict_of(decided([bound], [small_need("c", 4)])).claimed == ()


def test_a_covered_need_acquires_nothing() -> None:
    """Y2."""
    machines = [m5("bound", CONFIGURED, cluster="c"), m5("idle")]
    decision = decided(machines, [small_need("c", 4)])
    assert decision.actions == ()
    assert verdict_of(decision).deficit == racks.cpus(0)


def test_configured_machines_count_before_cheaper_configuring_ones() -> None:
    machines = [
        m5("a-cheap", CONFIGURING, cluster="c", price=0.1),
        m5("b-dear", CONFIGURED, cluster="c", price=9.0),
    ]
    assert verdict_of(decided(machines, [small_need("c", 4)])).claimed == ("b-dear",)


def test_another_clusters_machine_is_never_credited() -> None:
    decision = decided([m5("m", CONFIGURED, cluster="other")], [small_need("c", 4)])
    assert verdict_of(decision).claimed == ()


@pytest.mark.parametrize(
    "state", [MachineState.DRAINING, MachineState.DELETING, MachineState.CREATING]
)
def test_a_machine_that_leaves_or_has_no_cluster_is_not_credited(state: MachineState) -> None:
    cluster = "c" if state is MachineState.DRAINING else ""
    decision = decided([m5("m", state, cluster=cluster)], [small_need("c", 4)])
    assert verdict_of(decision).claimed == ()


def test_an_overdue_machine_is_not_credited() -> None:
    late = m5("m", CONFIGURING, cluster="c", marks=Marks(overdue=True))
    assert verdict_of(decided([late], [small_need("c", 4)])).claimed == ()


@pytest.mark.parametrize(
    ("cluster", "group", "credited"),
    [
        pytest.param("c", "g", True, id="its own order"),
        pytest.param("", "g", True, id="an order without a cluster fits any"),
        pytest.param("other", "g", False, id="another cluster's order"),
        pytest.param("c", "h", False, id="another group's order"),
    ],
)
def test_an_order_in_flight_counts_for_the_need_that_placed_it(
    cluster: str, group: str, credited: bool
) -> None:
    """U15: else a lost machine would be bought again every cycle until the first one is there."""
    need = small_need("c", 4, group="g")
    stamp = Assigned(cluster=cluster, need_fingerprint=need.profile.fingerprint, group=group)
    machines = [
        m5("ordered", MachineState.CREATING, stamp=stamp),
        m5("slot", MachineState.SPECULATIVE),
        m5("elsewhere", CONFIGURED, cluster="other"),
    ]
    decision = decided(machines, [need])
    assert verdict_of(decision).claimed == (("ordered",) if credited else ("slot",))
    assert provisioned(decision) == ([] if credited else ["slot"])


def test_an_order_of_another_profile_is_not_credited() -> None:
    """U15."""
    stamp = Assigned(cluster="c", need_fingerprint=racks.profile(999).fingerprint)
    decision = decided([m5("ordered", MachineState.CREATING, stamp=stamp)], [small_need("c", 4)])
    assert verdict_of(decision).claimed == ()


def test_stamps_do_not_decide_who_is_credited_a_bound_machine() -> None:
    """Any matching machine of the cluster counts for any Need of it."""
    stranger = racks.own_stamp(small_need("c", 4, priority=999, group="gone"))
    bound = m5("m", CONFIGURED, cluster="c", stamp=stranger)
    decision = decided([bound, m5("idle")], [small_need("c", 4)], options=PHASES)
    assert verdict_of(decision).claimed == ("m",)
    assert bootstrapped(decision) == []
