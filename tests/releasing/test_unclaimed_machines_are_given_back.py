"""Phase 3, reclaim: Configured machines that Phase 1 left unclaimed, in clusters that reported."""

from dataclasses import replace

from bigfleet.model.actions import ActionKind, Rule
from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need
from tests.worlds import gpus, racks
from tests.worlds.fleets import PHASES, UNREPORTED, actions_of, decided, reclaimed, verdict_of
from tests.worlds.gpus import bound, bound_many, gang, plain


def in_zone(zone: str, count: int) -> list[FleetMachine]:
    return bound_many(count, "c", zone=zone)


def test_a_cluster_that_wants_nothing_gives_everything_back() -> None:
    """R1."""
    decision = decided(bound_many(4, "c"))
    found = [
        (a.kind.label, a.cluster, a.grace_seconds, a.preemptor_priority, a.rule, a.need)
        for a in decision.actions
    ]
    assert found == [("Reclaim", "c", 600, 0, Rule.EXCESS, None)] * 4


def test_a_cluster_that_wants_all_keeps_all() -> None:
    """R2."""
    assert decided(bound_many(3, "c"), [plain("c", 0, 3)]).actions == ()


def test_of_equal_prices_the_one_cheaper_to_reclaim_goes() -> None:
    """R4."""
    machines = [bound("a-free", "c", 0, 0.0, 0.0), bound("b-dear", "c", 0, 0.0, 5000.0)]
    assert reclaimed(decided(machines, [plain("c", 0, 1)])) == ["a-free"]


def test_the_dearest_go_first_of_all() -> None:
    """The excess is the expensive tail; inside it cheap ones are listed first."""
    machines = [
        gpus.host(f"m-{price}", MachineState.CONFIGURED, cluster="c", price=price)
        for price in (9.0, 1.0, 5.0)
    ]
    decision = decided(machines, [plain("c", 0, 1)])
    assert [a.machine for a in actions_of(decision, ActionKind.RECLAIM)] == ["m-5.0", "m-9.0"]


def test_one_is_kept_for_a_need_of_one() -> None:
    """R6."""
    assert len(reclaimed(decided(bound_many(4, "c"), [plain("c", 0, 1)]))) == 3


def test_exactly_the_excess_goes() -> None:
    """R7."""
    decision = decided(bound_many(10, "c"), [plain("c", 0, 4)])
    assert (len(reclaimed(decision)), len(verdict_of(decision).claimed)) == (6, 4)
    assert set(reclaimed(decision)).isdisjoint(verdict_of(decision).claimed)


def test_a_machine_the_pods_fit_beside_is_given_back() -> None:
    """R8."""
    pod = racks.cpus(1, 4)
    machines = [
        racks.m5(f"m-{i}", MachineState.CONFIGURED, cluster="c", offered=racks.cpus(16, 32))
        for i in range(2)
    ]
    need = Need("c", racks.profile(), pod.times(8), pod)
    assert len(reclaimed(decided(machines, [need]))) == 1


def test_machines_off_the_gangs_zone_go_together() -> None:
    """R10."""
    decision = decided(in_zone("a", 2) + in_zone("b", 2), [gang("c", 0, 3)])
    gone = reclaimed(decision)
    assert len(gone) == 2
    assert gone in (["c-a000", "c-a001"], ["c-b000", "c-b001"])


def test_a_gang_stays_where_it_is_and_gives_back_what_is_too_much() -> None:
    """R13."""
    decision = decided(in_zone("a", 3) + gpus.zoned("b", 2), [gang("c", 0, 2)])
    assert [a.kind for a in decision.actions] == [ActionKind.RECLAIM]
    assert reclaimed(decision)[0].startswith("c-a")


def test_a_cluster_that_never_reported_keeps_everything() -> None:
    """R14."""
    assert decided(bound_many(100, "c"), options=UNREPORTED).actions == ()


def test_a_cluster_that_reported_nothing_gives_everything_back() -> None:
    """R15."""
    options = replace(PHASES, clusters_ready=frozenset({"c"}))
    assert len(reclaimed(decided(bound_many(50, "c"), options=options))) == 50


def test_only_clusters_that_reported_give_back() -> None:
    """R16."""
    options = replace(PHASES, clusters_ready=frozenset({"reported"}))
    machines = bound_many(10, "reported") + bound_many(10, "pending")
    decision = decided(machines, options=options)
    assert [a.cluster for a in decision.actions] == ["reported"] * 10


def test_configuring_and_draining_machines_are_left_alone() -> None:
    machines = [
        gpus.host("a", MachineState.CONFIGURING, cluster="c"),
        gpus.host("b", MachineState.DRAINING, cluster="c"),
    ]
    assert decided(machines).actions == ()


def test_clusters_give_back_in_order_of_their_names() -> None:
    machines = bound_many(1, "zulu") + bound_many(1, "alpha") + bound_many(1, "mike")
    assert [a.cluster for a in decided(machines).actions] == ["alpha", "mike", "zulu"]
