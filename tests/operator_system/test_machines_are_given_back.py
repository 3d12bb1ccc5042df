"""A whole operator: a machine that no Need claims goes if its pods have a place, and else stays."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bigfleet.kube.kinds import CAPACITY_REQUESTS, NODES, POD_DISRUPTION_BUDGETS, PODS
from bigfleet.kube.names import MACHINE_ID, OWNED_BY_POD
from bigfleet.model.cluster_reports import ClusterReport, ClusterReportReply, NeedStanding
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import MachineState
from bigfleet.model.resources import Resources
from bigfleet.model.session_frames import NodeStateUpdate, ReclaimInstruction
from bigfleet.wire.rollups import RollupReader
from tests.kube_api import FakeApiServer
from tests.operator_system.reports import ReportDesk
from tests.operator_system.rig import CLUSTER, AttentiveShard, JumpingClock, Rig, operating

S = MachineState
MACHINE = Resources.parse({"cpu": "8", "memory": "32Gi"})
ID = "bf1-one"
KEEP = {"bigfleet.lucy.sh/do-not-disrupt": "true"}


class Fleet:
    """Machines m-1 and m-2 with a Node each, and a shard that counts both for every Need."""

    def __init__(self, server: FakeApiServer) -> None:
        self.server = server
        self.shard = AttentiveShard()
        self.desk = ReportDesk(self.answer)
        self.preemptions: tuple[str, ...] = ()
        for number in (1, 2):
            self.has_machine(number)

    def has_machine(self, number: int) -> NodeStateUpdate:
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": instant_text(0)}
        meta = {"name": f"n-{number}", "labels": {MACHINE_ID: f"m-{number}"}}
        status = {"conditions": [ready], "allocatable": {**MACHINE.texts(), "pods": "110"}}
        self.server.put(NODES, {"metadata": meta, "status": status})
        told = NodeStateUpdate(f"m-{number}", CLUSTER, S.CONFIGURED, resources=MACHINE)
        self.shard.knows.append(told)
        return told

    def runs(
        self, name: str, node: str, cpu: str, annotations: dict[str, str] | None = None
    ) -> None:
        uid = f"uid-{name}"
        requests = {"cpu": cpu, "memory": "1Gi"}
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web"}
        meta: dict[str, Any] = {
            "name": name,
            "namespace": "shop",
            "uid": uid,
            "labels": {"app": "web"},
            "annotations": annotations or {},
            "ownerReferences": [{**owner, "controller": True}],
        }
        spec = {"nodeName": node, "containers": [{"resources": {"requests": requests}}]}
        self.server.put(PODS, {"metadata": meta, "spec": spec, "status": {"phase": "Running"}})
        labels = {OWNED_BY_POD: uid}
        about = {"name": f"cr-{name}", "namespace": "shop", "labels": labels}
        asked = {"resources": requests, "priority": 0}
        self.server.put(CAPACITY_REQUESTS, {"metadata": about, "spec": asked})

    def answer(self, _report: ClusterReport) -> ClusterReportReply:
        standings = tuple(
            NeedStanding(
                need.profile.fingerprint,
                need.group,
                satisfied=True,
                wanted=need.aggregate,
                claimed=MACHINE if not need.group else Resources(),
                machines=0 if need.group else 1,
            )
            for need in self.needs()
        )
        return ClusterReportReply(standings, 7, 1, len(standings), self.preemptions)

    def needs(self) -> list[Any]:
        if not self.shard.rollups:
            return []
        return list(RollupReader().read(self.shard.rollups[-1], CLUSTER, 1000).needs)

    def margins(self) -> list[Any]:
        return [need for need in self.needs() if need.group == "margin"]


@asynccontextmanager
async def running(
    folder: Path, server: FakeApiServer, clock: JumpingClock, fleet: Fleet
) -> AsyncIterator[Rig]:
    async with operating(folder, server, clock, fleet.shard, desk=fleet.desk) as rig:
        await rig.until(lambda: fleet.desk.taken and fleet.shard.rollups)
        await rig.until(lambda: rig.operator.cluster_cache.disruption_budgets.cache.synced)
        yield rig


def cordoned(server: FakeApiServer, name: str = "n-1") -> bool:
    return bool(server.get(NODES, name).get("spec", {}).get("unschedulable"))


def is_untouched(rig: Rig) -> bool:
    evicted = rig.server.calls("evict")
    return not cordoned(rig.server) and not rig.shard.acks and not evicted


async def test_a_machine_whose_pods_have_a_place_goes(tmp_path: Path) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server:
        fleet = Fleet(server)
        fleet.runs("web-0", "n-1", "2")
        async with running(tmp_path, server, clock, fleet) as rig:
            rig.shard.say(ReclaimInstruction(ID, ("m-1",), 600))
            await rig.passes(13)
            assert is_untouched(rig)
            await rig.until(lambda: len(rig.shard.acks) == 2)
            assert [ack.nodes_started for ack in rig.shard.acks] == [1, 1]
            assert not server.has(PODS, "web-0", "shop")


async def test_a_machine_that_must_stay_is_asked_for_and_kept(tmp_path: Path) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server:
        fleet = Fleet(server)
        fleet.runs("large", "n-1", "5")
        fleet.runs("other", "n-2", "5")
        async with running(tmp_path, server, clock, fleet) as rig:
            rig.shard.say(ReclaimInstruction(ID, ("m-1",), 600))
            await rig.until(fleet.margins)
            assert is_untouched(rig)
            await rig.until(lambda: fleet.desk.last.refused)
            (refused,) = fleet.desk.last.refused
            assert (refused.machine_id, refused.instruction_id) == ("m-1", ID)
            assert refused.text == (
                "pod shop/large would find no place on the other Nodes (1 x not enough cpu)"
            )
            told = {event["involvedObject"]["kind"] for event in rig.events("ReclaimRefused")}
            assert told == {"Node", "Pod"}
            page = await rig.metrics()
            assert 'bigfleet_operator_reclaims_refused_total{reason="no-room"} 1' in page
            rig.shard.say(NodeStateUpdate("m-1", CLUSTER, S.CONFIGURED, resources=MACHINE))
            await rig.until(lambda: not rig.operator.leading.drains.open_instructions)
            await rig.passes(30)
            assert is_untouched(rig)


async def test_a_machine_goes_when_room_has_come(tmp_path: Path) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server:
        fleet = Fleet(server)
        fleet.runs("large", "n-1", "5")
        fleet.runs("other", "n-2", "5")
        async with running(tmp_path, server, clock, fleet) as rig:
            rig.shard.say(ReclaimInstruction(ID, ("m-1",), 600))
            await rig.until(fleet.margins)
            assert is_untouched(rig)
            server.remove(PODS, "other", "shop")
            await rig.until(lambda: len(rig.shard.acks) == 2)
            assert not server.has(PODS, "large", "shop")


@pytest.mark.parametrize("annotations", [KEEP, None], ids=["annotated", "a budget"])
async def test_what_people_forbid_is_not_done(
    tmp_path: Path, annotations: dict[str, str] | None
) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server:
        fleet = Fleet(server)
        fleet.runs("web-0", "n-1", "1", annotations)
        if annotations is None:
            budget = {"metadata": {"name": "web", "namespace": "shop"}}
            selector = {"selector": {"matchLabels": {"app": "web"}}}
            status = {"disruptionsAllowed": 0}
            server.put(POD_DISRUPTION_BUDGETS, {**budget, "spec": selector, "status": status})
        async with running(tmp_path, server, clock, fleet) as rig:
            rig.shard.say(ReclaimInstruction(ID, ("m-1",), 600))
            await rig.until(lambda: fleet.desk.last.refused)
            await rig.passes(60)
            assert is_untouched(rig)


async def test_a_preemption_for_priority_zero_is_known_by_the_answer(tmp_path: Path) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server:
        fleet = Fleet(server)
        fleet.runs("large", "n-1", "5")
        fleet.runs("other", "n-2", "5")
        async with running(tmp_path, server, clock, fleet) as rig:
            fleet.preemptions = (ID,)
            rig.shard.say(ReclaimInstruction(ID, ("m-1",), 600, 0))
            await rig.until(lambda: len(rig.shard.acks) == 2)
            assert not server.has(PODS, "large", "shop")


async def test_a_shard_without_reports_is_obeyed_as_it_asks(tmp_path: Path) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server:
        fleet = Fleet(server)
        fleet.runs("large", "n-1", "5")
        fleet.runs("other", "n-2", "5")
        async with operating(tmp_path, server, clock, fleet.shard) as rig:
            await rig.until(lambda: rig.log.count("report.unknown"))
            rig.shard.say(ReclaimInstruction(ID, ("m-1",), 600))
            await rig.until(lambda: len(rig.shard.acks) == 2)
            assert not server.has(PODS, "large", "shop")


async def test_an_empty_machine_goes_at_once(tmp_path: Path) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server:
        fleet = Fleet(server)
        async with running(tmp_path, server, clock, fleet) as rig:
            rig.shard.say(ReclaimInstruction(ID, ("m-1",), 600))
            await rig.passes(8)
            assert [ack.nodes_started for ack in rig.shard.acks] == [1, 1]
