"""Export and import: our own form, and the snapshots of Go providers."""

import json

import pytest

from bigfleet.model.errors import BadInput
from bigfleet.model.machines import CapacityType, Host, MachineState
from bigfleet.model.provider_calls import Code, Token
from bigfleet.provider import Kind
from bigfleet.provider.ledger.fences import Mark, MarkKey
from bigfleet.provider.snapshots import read, written
from bigfleet.provider.testing import slots
from bigfleet.wire.provider_admin import ProviderAdminClient, Verb
from tests.provider.rig import Rig, rejection, running

WHY = {"owner": "me", "reason": "moving house"}
GO_SNAPSHOT = {
    "machines": {
        "m-1": {
            "ID": "m-1",
            "State": "CONFIGURED",
            "Host": {"Provider": "gcp", "Ref": "vm-1"},
            "InstanceType": "n2",
            "Zone": "b",
            "CapacityType": "ON_DEMAND",
            "PricePerHour": 0.5,
            "Resources": {"Resources": {"cpu": "2"}},
            "Cluster": "shop",
            "ShardMetadata": {"k": "v\u0000"},
        },
        "m-2": {"ID": "m-2", "State": "Speculative", "InstanceType": "n2", "Zone": "b",
                "CapacityType": "Spot", "InterruptionProbability": 0.2},
    },
    "fences": {"a/m-1": {"Epoch": 3, "Sequence": 7}},
    "ops": {"m-1/configure": "op-9"},
    "rev": 12,
    "next_op": 41,
}  # fmt: skip


def test_a_go_snapshot_is_read() -> None:
    snapshot = read(json.dumps(GO_SNAPSHOT).encode())
    first, second = (entry.record for entry in snapshot.entries)
    assert (first.state, first.host) == (MachineState.CONFIGURED, Host("gcp", "vm-1"))
    assert (first.resources, first.shard_metadata) == ({"cpu": "2"}, {"k": "v\0"})
    assert (second.state, second.capacity_type, second.host) == (
        MachineState.SPECULATIVE,
        CapacityType.SPOT,
        None,
    )
    assert snapshot.marks == {MarkKey("a", "m-1"): Mark(3, 7)}
    assert snapshot.entries[0].standing.operations == {"configure": "op-9"}
    assert (snapshot.revision, snapshot.counter) == (12, 40)


@pytest.mark.parametrize("form", ["bigfleet", "go"])
def test_what_is_written_is_read_again(form: str) -> None:
    snapshot = read(json.dumps(GO_SNAPSHOT).encode())
    assert read(written(snapshot, form)) == snapshot


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"machines": {"a": {}}}'])
def test_another_document_is_refused(content: bytes) -> None:
    with pytest.raises(BadInput):
        read(content)


async def exported(rig: Rig, form: str = "") -> bytes:
    async with ProviderAdminClient(f"127.0.0.1:{rig.server.port}") as admin:
        return (await admin.do(Verb.EXPORT, {"format": form})).content


async def test_a_provider_moves_house_with_bindings_marks_and_ids() -> None:
    async with running() as rig:
        await rig.create("m-0", Token("a", 3, 3))
        await rig.get("m-0")
        bound = await rig.configure("m-0", metadata={"k": "\0"})
        await rig.get("m-0")
        rig.substrate.hold(Kind.CREATE)
        await rig.create("m-1")
        content = await exported(rig)
    async with running(slots(4)) as rig:
        async with ProviderAdminClient(f"127.0.0.1:{rig.server.port}") as admin:
            await admin.do(Verb.IMPORT, {"content": content, **WHY})
            again = await rejection(admin.do(Verb.IMPORT, {"content": content, **WHY}))
            assert again.code is Code.ABORTED
        record = await rig.get("m-0")
        assert (record.cluster, record.shard_metadata) == ("shop", {"k": "\0"})
        assert (await rig.configure("m-0")).operation_id == bound.operation_id
        stale = await rejection(rig.drain("m-0", token=Token("a", 3, 3)))
        assert stale.code is Code.FAILED_PRECONDITION
        assert (await rig.get("m-1")).last_error.startswith("interrupted:")
        assert (await rig.create("m-2")).operation_id == "op-mem1-4"
        assert len((await rig.ids())[0]) == 4
