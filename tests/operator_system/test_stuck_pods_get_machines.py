"""A whole operator: pods that find no place though their Need is covered, and what is asked."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bigfleet.kube.kinds import CAPACITY_REQUESTS, EVENTS, NODES, PODS
from bigfleet.kube.names import MACHINE_ID, OWNED_BY_POD
from bigfleet.model.cluster_reports import ClusterReport, ClusterReportReply, NeedStanding
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need
from bigfleet.model.resources import Resources
from bigfleet.model.session_frames import NodeStateUpdate
from bigfleet.model.settings import Seconds
from bigfleet.operator.settings import RevisionTimes
from bigfleet.wire.rollups import RollupReader
from tests.kube_api import FakeApiServer
from tests.operator_system.reports import ReportDesk
from tests.operator_system.rig import CLUSTER, AttentiveShard, JumpingClock, Rig, operating

MACHINE = Resources.parse({"cpu": "7500m", "memory": "30Gi"})
REFUSED = "0/4 nodes are available: 4 Insufficient cpu."
MARGIN = "margin"
#: Whether pods or Nodes are heard of first is chance.
QUICK: dict[str, Any] = {"revision": RevisionTimes(judged_after=Seconds(3))}


@dataclass
class Fleet:
    """What the shard would count: so many machines for the own row, so many for its margin."""

    shard: AttentiveShard = field(default_factory=AttentiveShard)
    own: int = 0
    margin: int = 0
    #: Of those of the margin, how many are on their way.
    arriving: int = 0
    #: Before the first roll-up of this process: what the last one asked for.
    remembered: tuple[Need, ...] = ()
    #: A shard of an earlier version says how Needs stand, and not what it counts.
    is_old: bool = False

    def needs(self) -> tuple[Need, ...]:
        if not self.shard.rollups:
            return self.remembered
        return tuple(RollupReader().read(self.shard.rollups[-1], CLUSTER, 1000).needs)

    def margins(self) -> tuple[Need, ...]:
        return tuple(need for need in self.needs() if need.group == MARGIN)

    def answer(self, _report: ClusterReport) -> ClusterReportReply:
        needs = self.needs()
        return ClusterReportReply(tuple(map(self._standing, needs)), 7, 1, len(needs))

    def _standing(self, need: Need) -> NeedStanding:
        machines = self.margin if need.group == MARGIN else self.own
        if self.is_old:
            return NeedStanding(need.profile.fingerprint, need.group, satisfied=True)
        return NeedStanding(
            need.profile.fingerprint,
            need.group,
            satisfied=True,
            wanted=need.aggregate,
            claimed=MACHINE.times(machines),
            machines=machines,
            arriving=self.arriving if need.group == MARGIN else 0,
        )


def node(machine: str) -> dict[str, Any]:
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": instant_text(0)}
    allocatable = {**MACHINE.texts(), "pods": "110"}
    return {
        "metadata": {"name": f"n-{machine}", "labels": {MACHINE_ID: machine}},
        "status": {"conditions": [condition], "allocatable": allocatable},
    }


def put_pod(
    server: FakeApiServer, number: int, on: str = "", *, judged: bool = True, since: int = 0
) -> None:
    resources = {"cpu": "5", "memory": "1Gi"}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "w", "uid": "w"}
    name, uid = f"web-{number}", f"uid-{number}"
    condition = {"type": "PodScheduled", "status": "True" if on else "False"}
    if not on:
        condition |= {
            "reason": "Unschedulable",
            "message": REFUSED,
            "lastTransitionTime": instant_text(since),
        }
    spec: dict[str, Any] = {"containers": [{"resources": {"requests": resources}}]}
    server.put(
        PODS,
        {
            "metadata": {
                "name": name,
                "namespace": "ns",
                "uid": uid,
                "ownerReferences": [owner | {"controller": True}],
            },
            "spec": spec | ({"nodeName": on} if on else {}),
            "status": {"conditions": [condition] if on or judged else []},
        },
    )
    server.put(
        CAPACITY_REQUESTS,
        {
            "metadata": {"name": f"cr-{number}", "namespace": "ns", "labels": {OWNED_BY_POD: uid}},
            "spec": {"resources": resources, "priority": 0},
        },
    )


def fill(server: FakeApiServer, fleet: Fleet, *, judged: bool = True, since: int = 0) -> None:
    """Six pods of five cpus on four machines of 7.5: two of them find no place."""
    fleet.own = 4
    for number in range(1, 5):
        server.put(NODES, node(f"m-{number}"))
        fleet.shard.knows.append(machine(f"m-{number}"))
    for number in range(1, 7):
        on = f"n-m-{number}" if number <= 4 else ""
        put_pod(server, number, on, judged=judged, since=since)


def machine(name: str) -> NodeStateUpdate:
    return NodeStateUpdate(name, CLUSTER, MachineState.CONFIGURED, resources=MACHINE)


async def until_asked(rig: Rig, fleet: Fleet) -> Need:
    await rig.until(fleet.margins)
    (margin,) = fleet.margins()
    return margin


async def test_stuck_pods_are_asked_for_in_a_row_of_their_own(tmp_path: Path) -> None:
    clock, fleet = JumpingClock(), Fleet()
    desk = ReportDesk(fleet.answer)
    async with FakeApiServer(clock) as server:
        fill(server, fleet)
        async with operating(tmp_path, server, clock, fleet.shard, desk=desk, **QUICK) as rig:
            margin = await until_asked(rig, fleet)
            own = next(need for need in fleet.needs() if not need.group)
            assert own.aggregate == Resources.parse({"cpu": "30", "memory": "6Gi"})
            # One whole machine, and the smallest stuck pod: two machines' worth.
            assert margin.aggregate == Resources.parse({"cpu": "12500m"})
            assert margin.profile == own.profile
            await rig.until(lambda: desk.last.stuck and desk.last.stuck[0].pods == 2)
            fingerprint = own.profile.fingerprint
            await rig.until(
                lambda: set(desk.last.ask) == {(fingerprint, ""), (fingerprint, MARGIN)}
            )
            page = await rig.metrics()
            assert 'bigfleet_operator_margin{resource="cpu"} 12.5' in page
            assert "bigfleet_operator_stuck_pods 2" in page
            assert 'bigfleet_operator_margin_rounds_total{result="raised"} 1' in page
            await rig.until(lambda: rig.events("MachinesAddedForStuckPods"))
            (event,) = rig.events("MachinesAddedForStuckPods")
            assert REFUSED in event["message"]


async def test_the_margin_stays_when_its_pods_are_placed(tmp_path: Path) -> None:
    clock, fleet = JumpingClock(), Fleet()
    desk = ReportDesk(fleet.answer)
    async with FakeApiServer(clock) as server:
        fill(server, fleet)
        async with operating(tmp_path, server, clock, fleet.shard, desk=desk, **QUICK) as rig:
            await until_asked(rig, fleet)
            fleet.margin, fleet.arriving, seen = 2, 2, len(desk.taken)
            await rig.until(lambda: len(desk.taken) > seen + 1)
            fleet.arriving = 0
            for number in (5, 6):
                server.put(NODES, node(f"m-{number}"))
                rig.shard.say(machine(f"m-{number}"))
                put_pod(server, number, f"n-m-{number}")
            await rig.passes(45)
            assert [need.aggregate["cpu"] for need in fleet.margins()] == [12_500]
            assert desk.last.stuck == ()


async def test_a_restarted_operator_keeps_the_margins_in_force(tmp_path: Path) -> None:
    clock, fleet = JumpingClock(), Fleet()
    desk = ReportDesk(fleet.answer)
    async with FakeApiServer(clock) as server:
        fill(server, fleet)
        async with operating(tmp_path, server, clock, fleet.shard, desk=desk, **QUICK) as rig:
            await until_asked(rig, fleet)
            fleet.margin, fleet.remembered = 2, fleet.needs()
        for number in (5, 6):
            server.put(NODES, node(f"m-{number}"))
            fleet.shard.knows.append(machine(f"m-{number}"))
            put_pod(server, number, f"n-m-{number}")
        fleet.shard.rollups.clear()
        desk.taken.clear()
        async with operating(tmp_path, server, clock, fleet.shard, desk=desk, **QUICK) as rig:
            await rig.until(lambda: len(fleet.shard.rollups) > 3)
            for content in fleet.shard.rollups:
                needs = RollupReader().read(content, CLUSTER, 1000).needs
                assert [need.group for need in needs] == ["", MARGIN], "it is never withdrawn"
            assert (desk.taken[0].ask[0][1]) == MARGIN


async def test_a_scheduler_that_says_nothing_changes_nothing(tmp_path: Path) -> None:
    clock, fleet = JumpingClock(), Fleet()
    desk = ReportDesk(fleet.answer)
    async with FakeApiServer(clock) as server:
        fill(server, fleet, judged=False)
        async with operating(tmp_path, server, clock, fleet.shard, desk=desk, **QUICK) as rig:
            await rig.passes(45)
            assert fleet.margins() == ()
            assert desk.last.stuck == ()


async def test_refused_events_change_nothing_else(tmp_path: Path) -> None:
    clock, fleet = JumpingClock(), Fleet()
    desk = ReportDesk(fleet.answer)
    async with FakeApiServer(clock) as server:
        server.fail("create", EVENTS.plural, status=403, reason="Forbidden", times=10**6)
        fill(server, fleet)
        async with operating(tmp_path, server, clock, fleet.shard, desk=desk, **QUICK) as rig:
            await until_asked(rig, fleet)
            assert rig.log.count("demand.revised") >= 1


async def test_a_shard_without_reports_gets_its_roll_up_at_once_and_nothing_is_revised(
    tmp_path: Path,
) -> None:
    clock, fleet = JumpingClock(), Fleet()
    async with FakeApiServer(clock) as server:
        fill(server, fleet)
        async with operating(tmp_path, server, clock, fleet.shard, **QUICK) as rig:
            began = clock.now()
            await rig.until(lambda: fleet.shard.rollups)
            assert clock.now() - began < 8 * 10**9, "the time a first reply is waited for is longer"
            await rig.passes(45)
            assert fleet.margins() == ()
            # It is asked again every ten minutes, and said once.
            await rig.passes(620)
            assert fleet.margins() == ()
            assert rig.log.count("report.unknown") == 1


async def test_a_shard_that_does_not_say_what_it_counts_is_told_of_once(tmp_path: Path) -> None:
    clock, fleet = JumpingClock(), Fleet(is_old=True)
    desk = ReportDesk(fleet.answer)
    async with FakeApiServer(clock) as server:
        fill(server, fleet)
        async with operating(tmp_path, server, clock, fleet.shard, desk=desk, **QUICK) as rig:
            await rig.passes(45)
            assert fleet.margins() == ()
            assert rig.log.count("demand.revised") == 1


async def test_nothing_is_revised_while_pods_cannot_be_seen(tmp_path: Path) -> None:
    clock, fleet = JumpingClock(), Fleet()
    desk = ReportDesk(fleet.answer)
    async with FakeApiServer(clock) as server:
        fill(server, fleet, since=clock.now())
        async with operating(
            tmp_path, server, clock, fleet.shard, desk=desk, stuck_grace=30, **QUICK
        ) as rig:
            await rig.until(lambda: desk.taken)
            for verb in ("watch", "list"):
                server.fail(verb, PODS.plural, status=403, reason="Forbidden", times=10**6)
            server.drop_watches(PODS.plural)
            await rig.passes(45)
            assert fleet.margins() == ()
            server.heal()
            await until_asked(rig, fleet)
