"""Killed in any transitional state: the operation is taken up or ended, with everything it had."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bigfleet.edge.clock import next_turn
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Ack, Code, MachineRecord, Token
from bigfleet.provider import Kind, ManualClock, SQLiteStore
from bigfleet.provider.options import KeepBlobs, ProviderOptions
from bigfleet.provider.stores.store import Store
from bigfleet.provider.testing import FakeHost, FakeSubstrate, slots
from tests.provider.rig import OPTIONS, Rig, rejection, running


class Blind(FakeSubstrate):
    """A substrate that cannot be asked about a host."""

    inspect = None  # type: ignore[assignment]


class RestartableProvider:
    """A substrate, a clock and a state file that outlive the process."""

    def __init__(self, folder: Path, *, blind: bool = False) -> None:
        self.substrate = (Blind if blind else FakeSubstrate)(slots(3))
        self.clock = ManualClock()
        self.path = folder / "state.db"

    def store(self) -> Store:
        return SQLiteStore(self.path, "inc")

    @asynccontextmanager
    async def life(self, options: ProviderOptions = OPTIONS) -> AsyncIterator[Rig]:
        async with running(
            substrate=self.substrate, store=self.store(), clock=self.clock, options=options
        ) as rig:
            yield rig


@pytest.fixture
def restartable(tmp_path: Path) -> RestartableProvider:
    return RestartableProvider(tmp_path)


async def until(rig: Rig, machine_id: str, *states: MachineState) -> MachineRecord:
    """The store writes in a real thread, so this waits in real time, as short as it can."""
    record = await rig.get(machine_id)
    async with asyncio.timeout(60):
        while record.state not in states:
            await next_turn()
            record = await rig.get(machine_id)
    return record


async def interrupted_in(
    restartable: RestartableProvider, kind: Kind, options: ProviderOptions = OPTIONS
) -> str:
    """Brings m-0 into the middle of `kind` and ends the process there."""
    async with restartable.life(options) as rig:
        if kind is not Kind.CREATE:
            await rig.create("m-0")
            await until(rig, "m-0", MachineState.IDLE)
        if kind is Kind.DRAIN:
            await rig.configure("m-0")
            await until(rig, "m-0", MachineState.CONFIGURED)
        restartable.substrate.hold(kind)
        calls: dict[Kind, Callable[[], Awaitable[Ack]]] = {
            Kind.CREATE: lambda: rig.create("m-0"),
            Kind.CONFIGURE: lambda: rig.configure("m-0"),
            Kind.DRAIN: lambda: rig.drain("m-0"),
            Kind.DELETE: lambda: rig.delete("m-0"),
        }
        ack = await calls[kind]()
        assert await rig.state("m-0") is kind.passing
    restartable.substrate.release()
    return ack.operation_id


@pytest.mark.parametrize("kind", Kind)
async def test_an_interrupted_operation_is_called_again_with_its_id(
    tmp_path: Path, kind: Kind
) -> None:
    restartable = RestartableProvider(tmp_path, blind=True)
    operation_id = await interrupted_in(restartable, kind)
    async with restartable.life() as rig:
        await until(rig, "m-0", kind.target)
        last = restartable.substrate.seen[-1]
        assert (last.operation_id, last.attempt, last.kind) == (operation_id, 2, kind)
        if kind is Kind.CONFIGURE:
            assert (last.bootstrap_blob, last.cluster_id) == (b"join", "shop")


@pytest.mark.parametrize("kind", Kind)
async def test_after_its_deadline_it_has_failed_as_interrupted(
    restartable: RestartableProvider, kind: Kind
) -> None:
    await interrupted_in(restartable, kind)
    await restartable.clock.advance(3600)
    async with restartable.life() as rig:
        record = await until(rig, "m-0", MachineState.FAILED)
        assert record.last_error.startswith("interrupted:")


async def test_a_host_found_running_completes_its_create(restartable: RestartableProvider) -> None:
    await interrupted_in(restartable, Kind.CREATE)
    restartable.substrate.hosts["m-0"] = FakeHost("found")
    calls = len(restartable.substrate.seen)
    async with restartable.life() as rig:
        record = await until(rig, "m-0", MachineState.IDLE)
        assert record.host is not None
        assert (record.host.ref, len(restartable.substrate.seen)) == ("found", calls)


async def test_a_bound_host_completes_its_configure(restartable: RestartableProvider) -> None:
    await interrupted_in(restartable, Kind.CONFIGURE)
    restartable.substrate.hosts["m-0"].cluster = "shop"
    calls = len(restartable.substrate.seen)
    async with restartable.life() as rig:
        await until(rig, "m-0", MachineState.CONFIGURED)
        assert len(restartable.substrate.seen) == calls


@pytest.mark.parametrize(
    ("kind", "state", "error"),
    [
        (Kind.CREATE, MachineState.FAILED, "interrupted:"),
        (Kind.CONFIGURE, MachineState.FAILED, "vanished:"),
        (Kind.DRAIN, MachineState.FAILED, "vanished:"),
        (Kind.DELETE, MachineState.SPECULATIVE, ""),
    ],
    ids=str,
)
async def test_a_host_found_gone_ends_the_operation(
    restartable: RestartableProvider, kind: Kind, state: MachineState, error: str
) -> None:
    await interrupted_in(restartable, kind)
    restartable.substrate.hosts.clear()
    async with restartable.life() as rig:
        assert (await until(rig, "m-0", state)).last_error.startswith(error)


async def test_a_blob_that_was_not_kept_fails_its_configure(tmp_path: Path) -> None:
    restartable = RestartableProvider(tmp_path, blind=True)
    options = replace(OPTIONS, keep_blobs=KeepBlobs.NEVER)
    await interrupted_in(restartable, Kind.CONFIGURE, options)
    assert b"join" not in restartable.path.read_bytes()
    async with restartable.life(options) as rig:
        record = await until(rig, "m-0", MachineState.FAILED)
        assert record.last_error.startswith("interrupted:")


async def test_marks_ids_bindings_and_the_counter_survive(restartable: RestartableProvider) -> None:
    async with restartable.life() as rig:
        await rig.create("m-0", Token("durA", 3, 7))
        await rig.create("m-1")
        await until(rig, "m-1", MachineState.IDLE)
        bound = await rig.configure("m-1", metadata={"k\0": "v\0"})
        await until(rig, "m-1", MachineState.CONFIGURED)
        _, cursor = await rig.ids()
    async with restartable.life() as rig:
        stale = await rejection(rig.create("m-0", Token("durA", 3, 7)))
        assert stale.code is Code.FAILED_PRECONDITION
        record = await rig.get("m-1")
        assert (record.cluster, record.shard_metadata) == ("shop", {"k\0": "v\0"})
        again = await rig.configure("m-1")
        assert again.operation_id == bound.operation_id
        assert await rig.ids(since=cursor) == ([], cursor)
        fresh = await rig.create("m-2", Token("durB", 1, 1))
        assert fresh.operation_id == "op-inc-4"


async def test_the_inventory_of_the_store_wins_over_the_describe(
    restartable: RestartableProvider,
) -> None:
    async with restartable.life() as rig:
        await rig.create("m-0")
        await until(rig, "m-0", MachineState.IDLE)
    restartable.substrate.hosts.clear()
    async with restartable.life() as rig:
        assert await rig.state("m-0") is MachineState.IDLE


async def test_the_blob_is_erased_when_the_work_ends(restartable: RestartableProvider) -> None:
    async with restartable.life() as rig:
        await rig.create("m-0")
        await until(rig, "m-0", MachineState.IDLE)
        await rig.configure("m-0", blob=b"very-secret-token")
        await until(rig, "m-0", MachineState.CONFIGURED)
        store = rig.server._store
        assert [row.blob for row in store.journal()] == [None, None]
    assert b"very-secret-token" not in restartable.path.read_bytes()
