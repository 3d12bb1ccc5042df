"""A cluster tells of its own Nodes, and only while it tells at all."""

from dataclasses import replace

import pytest

from bigfleet.model.cluster_reports import ClusterReport, LostCause, LostMachine, StuckNeed
from bigfleet.model.machines import Host, Machine, MachineState
from bigfleet.model.options import SECOND
from tests.shard_parts import Clusters, parts_of

S = MachineState
LISTS = ("empty", "unusable", "lost")


class Shard:
    """Three machines of shop, one of bank, one without a cluster; both clusters are connected."""

    def __init__(self) -> None:
        parts = parts_of()
        self.clusters = Clusters(parts, "shop", "bank")
        self.effects, self.machines = parts.effects, parts.machines
        self.reports = parts.cluster_reports
        for name in ("m-1", "m-2", "m-3"):
            self.add(name, S.CONFIGURED, "shop")
        self.add("b-1", S.CONFIGURED, "bank")
        self.add("free", S.IDLE)

    def add(self, name: str, state: MachineState, cluster: str = "") -> None:
        machine = Machine(name, state, host=Host("cloud", name), cluster=cluster)
        self.machines.insert(machine, "cloud", 0, "listed")

    def becomes(self, name: str, state: MachineState, cluster: str = "") -> None:
        after = replace(self.machines.truth(name), state=state, cluster=cluster)
        self.machines.step(after, 1, "moved", adopted=True)

    def tell(self, *ids: str, cluster: str = "shop", at: int = 0) -> None:
        """A report that says everything of these machines."""
        lost = tuple(LostMachine(name, LostCause.NODE_GONE) for name in ids)
        stuck = (StuckNeed("fp", "g", 3),)
        report = ClusterReport(
            cluster, 1, empty_machines=ids, unusable_machines=ids, lost=lost, stuck=stuck
        )
        self.reports.take(report, at * SECOND)

    def tick(self, second: int) -> None:
        self.reports.tick(second * SECOND)

    def told(self) -> dict[str, list[str]]:
        """What counts of each list."""
        marks = self.machines.inventory.marks_of
        names = sorted(self.machines.ids())
        clusters = ("shop", "bank")
        return {
            "empty": [name for name in names if marks(name).empty],
            "unusable": [name for name in names if not self.reports.is_usable(name)],
            "lost": sorted(name for c in clusters for name in self.reports.lost(c)),
        }


def everywhere(*names: str) -> dict[str, list[str]]:
    return {each: list(names) for each in LISTS}


def test_a_report_is_believed_of_the_clusters_own_machines() -> None:
    shard = Shard()
    shard.tell("m-1", "m-2")
    assert shard.told() == everywhere("m-1", "m-2")
    assert shard.reports.unusable() == {"m-1", "m-2"}
    assert shard.reports.stuck("shop") == {("fp", "g"): 3}
    assert shard.reports.is_fresh("shop")


@pytest.mark.parametrize("strange", ["b-1", "free", "nobody-knows-it"])
def test_what_it_says_of_other_machines_is_ignored_and_counted(strange: str) -> None:
    shard = Shard()
    shard.tell("m-1", strange)
    assert shard.told() == everywhere("m-1")
    counts = shard.effects.counts
    assert [counts.of("report_machines_ignored_total", list=each) for each in LISTS] == [1, 1, 1]


def test_each_report_says_everything_anew() -> None:
    shard = Shard()
    shard.tell("m-1", "m-2")
    shard.tell("m-2", "m-3", at=10)
    assert shard.told() == everywhere("m-2", "m-3")


def test_a_stale_report_says_nothing() -> None:
    shard = Shard()
    shard.tell("m-1")
    shard.tick(29)
    assert shard.told() == everywhere("m-1")
    shard.tick(30)
    assert shard.told() == everywhere()
    assert shard.reports.stuck("shop") == {}
    assert not shard.reports.is_fresh("shop")


def test_a_cluster_that_goes_is_not_believed_for_another_second() -> None:
    shard = Shard()
    shard.tell("m-1")
    shard.tell("b-1", cluster="bank")
    shard.clusters.disconnect("shop")
    assert shard.told() == everywhere("b-1")
    shard.tick(1)
    assert shard.told() == everywhere("b-1")
    assert shard.reports.of("shop") is not None


@pytest.mark.parametrize("state", [S.DRAINING, S.DELETING, S.IDLE], ids=lambda s: s.label)
def test_a_machine_that_leaves_takes_what_was_said_with_it(state: MachineState) -> None:
    shard = Shard()
    shard.tell("m-1", "m-2")
    shard.becomes("m-1", state, "" if state is S.IDLE else "shop")
    assert shard.told() == everywhere("m-2")
    shard.becomes("m-1", S.CONFIGURED, "shop")
    assert shard.told() == everywhere("m-2")


def test_a_machine_that_changes_its_cluster_is_as_new() -> None:
    shard = Shard()
    shard.tell("m-1")
    shard.becomes("m-1", S.CONFIGURED, "bank")
    assert shard.told() == everywhere()


def test_a_machine_of_another_cluster_now_is_not_cleared_by_the_first() -> None:
    shard = Shard()
    shard.tell("m-1")
    shard.becomes("m-1", S.CONFIGURED, "bank")
    shard.tell("m-1", cluster="bank")
    shard.tell("m-2", at=1)
    assert shard.told() == everywhere("m-1", "m-2")


def test_a_cluster_that_never_reports_changes_nothing() -> None:
    shard = Shard()
    shard.tick(100)
    assert shard.told() == everywhere()
    assert not shard.reports.is_fresh("shop")
    assert shard.reports.stuck("shop") == {}
