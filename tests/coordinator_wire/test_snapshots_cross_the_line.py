"""A snapshot comes in frames of a mebibyte at most, and is whole or not at all."""

import json
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.v1alpha1 import coordinator_pb2 as contract
from bigfleet.wire.client_line import ClientLine
from bigfleet.wire.coordinator_admin import COORDINATOR, CoordinatorAdminClient
from bigfleet.wire.coordinator_handlers import Snapshot
from bigfleet.wire.snapshot_frames import meta_of
from tests.coordinator_wire import samples
from tests.coordinator_wire.scripted import PATIENCE, ScriptedCoordinator, serving

MEBIBYTE = 1024 * 1024
DATA = Random(1).randbytes(3 * MEBIBYTE)


async def test_what_it_is_comes_first_and_no_frame_is_larger_than_a_mebibyte() -> None:
    async with serving(ScriptedCoordinator(saved=samples.snapshot_of(DATA))) as rig:
        line = ClientLine(rig.address)
        stream = line.stream(f"/{COORDINATOR.name}/SnapshotSave", b"", PATIENCE)
        frames = [frame async for frame in stream]
        await line.close()
    assert max(map(len, frames)) <= MEBIBYTE
    chunks = [contract.SnapshotSaveChunk.FromString(frame) for frame in frames]
    assert [chunk.WhichOneof("payload") for chunk in chunks] == ["meta_json", *["data"] * 4]
    assert b"".join(chunk.data for chunk in chunks) == DATA
    saved = samples.snapshot_of(DATA).meta
    assert json.loads(chunks[0].meta_json) == {
        "ID": "s-1",
        "Index": 18,
        "Term": 3,
        "Size": 3 * MEBIBYTE,
        "Version": 1,
        "Backend": "sqlite",
        "SHA256": saved.sha256,
        "CreatedUnixNanos": 23,
    }


@pytest.mark.parametrize("data", [DATA, b""], ids=["three mebibytes", "nothing"])
async def test_a_snapshot_is_handed_on_piece_by_piece(data: bytes) -> None:
    saved, pieces = samples.snapshot_of(data), list[bytes]()
    async with (
        serving(ScriptedCoordinator(saved=saved)) as rig,
        CoordinatorAdminClient([rig.address], deadline=PATIENCE) as client,
    ):
        assert await client.snapshot(pieces.append) == saved.meta
    assert b"".join(pieces) == data
    assert b"" not in pieces


WRONG: dict[str, Callable[[Snapshot], Snapshot]] = {
    "too short": lambda s: Snapshot(s.meta, s.data[:-1]),
    "changed on the way": lambda s: Snapshot(s.meta, s.data[:-1] + b"?"),
    "of another size": lambda s: replace(s, meta=replace(s.meta, size=1)),
}


@pytest.mark.parametrize("wrong", WRONG)
async def test_an_incomplete_snapshot_is_ignored(wrong: str) -> None:
    saved = WRONG[wrong](samples.snapshot_of(b'{"shards": []}'))
    async with (
        serving(ScriptedCoordinator(saved=saved)) as rig,
        CoordinatorAdminClient([rig.address], deadline=PATIENCE) as client,
    ):
        with pytest.raises(Rejected, match="take another") as rejected:
            await client.snapshot(lambda _piece: None)
    assert rejected.value.code is Code.DATA_LOSS


async def test_nothing_to_save_is_not_found() -> None:
    empty = ScriptedCoordinator(raises=Rejected(Code.NOT_FOUND, "nothing is stored"))
    async with (
        serving(empty) as rig,
        CoordinatorAdminClient([rig.address], deadline=PATIENCE) as client,
    ):
        with pytest.raises(Rejected, match="nothing is stored") as rejected:
            await client.snapshot(lambda _piece: None)
    assert rejected.value.code is Code.NOT_FOUND


async def test_a_disk_that_is_full_ends_the_reading_with_its_own_words() -> None:
    def full(_piece: bytes) -> None:
        raise OSError("no space left")

    async with (
        serving(ScriptedCoordinator()) as rig,
        CoordinatorAdminClient([rig.address], deadline=PATIENCE) as client,
    ):
        with pytest.raises(OSError, match="no space left"):
            await client.snapshot(full)


@pytest.mark.parametrize(
    "content",
    [b"{", b"[]", b'{"ID": "s-1"}', b'{"ID": 1}', b"\xff"],
    ids=["cut", "a list", "too little", "a number for a name", "no text"],
)
def test_a_malformed_meta_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        meta_of(content)


def test_a_meta_with_a_text_for_a_number_is_refused() -> None:
    told = {"ID": "s", "Backend": "etcd", "SHA256": "", "Index": "1"}
    told |= dict.fromkeys(("Term", "Size", "Version", "CreatedUnixNanos"), "1")
    with pytest.raises(ValueError, match="are numbers"):
        meta_of(json.dumps(told).encode())
