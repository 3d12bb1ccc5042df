"""Snapshots by hand and by the clock, and what a restored coordinator is."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from bigfleet.coordinator.driving.duties import LATEST
from bigfleet.coordinator.snapshots import snapshot_of
from bigfleet.coordinator.stores.contract import Leader
from bigfleet.edge.clock import ManualClock
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.settings import Seconds
from tests.coordinator_process.memory_store import Fault, MemoryStore, SharedRows
from tests.coordinator_process.rig import ADA, QUICK, CoordinatorRig, coordinated
from tests.etcd_cluster import etcd_cluster, needs_etcd
from tests.shard_system.waiting import until, until_told


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


async def saved(rig: CoordinatorRig, file: Path, *more: str) -> Result:
    """`snapshot save`, beside the loop that serves it."""
    words = ("snapshot", "save", str(file), "--coordinator", rig.address, *more)
    return await asyncio.to_thread(run, *words)


async def restored(file: Path, *into: str) -> Result:
    why = ("--owner", "ada", "--reason", "disk lost")
    return await asyncio.to_thread(run, "snapshot", "restore", str(file), *into, *why)


async def filled(rig: CoordinatorRig) -> None:
    await rig.reported("shard-0")
    await rig.reported("shard-1")
    await rig.client.assign_domain(ADA, topology_key="zone", topology_value="a", shard_id="shard-1")
    await rig.client.set_quota(ADA, provider="sim", region="eu", total=40)


async def is_restored(rig: CoordinatorRig, term: int) -> None:
    assert {entry.shard_id for entry in await rig.client.shards()} == {"shard-0", "shard-1"}
    assert (await rig.client.quotas())[0].total == 40
    assert rig.process.leading.heard().term == term
    assert rig.process.leading.book().merging
    # Nothing is given to a shard before the shards have told what they hold.
    reply = await rig.synced("shard-0")
    assert (reply.merging, reply.ownership) == (True, None)


async def test_a_saved_state_is_restored_into_a_file(tmp_path: Path) -> None:
    file = tmp_path / "fleet.snapshot"
    async with coordinated(tmp_path / "one") as rig:
        await filled(rig)
        done = await saved(rig, file)
        assert done.exit_code == 0, done.output
        assert "term 1" in done.stdout
        assert snapshot_of(file.read_bytes()).meta.sha256 in done.stdout
    done = await restored(file, "--data-dir", str(tmp_path / "two"))
    assert done.exit_code == 0, done.output
    async with coordinated(tmp_path / "two") as rig:
        await is_restored(rig, 1002)
        (told,) = rig.log.events("admin")
        assert told["msg"].startswith("ada: restored snapshot fleet.snapshot at 20")
        assert told["msg"].endswith("(disk lost)")
        assert told["msg"] in [event.text async for event in rig.client.events()]
    async with coordinated(tmp_path / "two") as rig:
        assert rig.log.events("admin") == [], "it is told once"
    again = await restored(file, "--data-dir", str(tmp_path / "two"))
    assert again.exit_code == 4
    assert "is there already" in again.stderr


@needs_etcd
async def test_a_state_goes_from_a_file_to_etcd_and_back(tmp_path: Path) -> None:
    first, second = tmp_path / "first.snapshot", tmp_path / "second.snapshot"
    async with coordinated(tmp_path / "one") as rig:
        await filled(rig)
        assert (await saved(rig, first)).exit_code == 0
    with etcd_cluster(tmp_path) as etcd:
        endpoints = ",".join(etcd.endpoints)
        done = await restored(first, "--etcd-endpoints", endpoints)
        assert done.exit_code == 0, done.output
        settings = replace(QUICK, store="etcd", etcd_endpoints=tuple(etcd.endpoints))
        async with coordinated(tmp_path, settings) as rig:
            await is_restored(rig, 1002)
            assert (await saved(rig, second)).exit_code == 0
        again = await restored(first, "--etcd-endpoints", endpoints)
        assert again.exit_code == 4
        assert "a restore replaces nothing" in again.stderr
    assert snapshot_of(second.read_bytes()).meta.backend == "etcd"
    done = await restored(second, "--data-dir", str(tmp_path / "two"))
    assert done.exit_code == 0, done.output
    async with coordinated(tmp_path / "two") as rig:
        await is_restored(rig, 2003)


async def test_a_coordinator_that_holds_nothing_has_nothing_to_save(tmp_path: Path) -> None:
    async with coordinated(tmp_path) as rig:
        with pytest.raises(Rejected) as told:
            await rig.client.snapshot(lambda piece: None)
        assert told.value.code is Code.NOT_FOUND
        done = await saved(rig, tmp_path / "none.snapshot")
        assert (done.exit_code, done.stderr) == (
            3,
            "nothing is stored yet: no shard has ever reported\n",
        )
        assert not (tmp_path / "none.snapshot").exists()


async def test_a_save_in_json_names_revision_term_and_checksum(tmp_path: Path) -> None:
    async with coordinated(tmp_path / "data") as rig:
        await filled(rig)
        file = tmp_path / "fleet.snapshot"
        document = json.loads((await saved(rig, file, "-o", "json")).stdout)
        assert (document["file"], document["term"]) == (str(file), 1)
        assert document["bytes"] == snapshot_of(file.read_bytes()).meta.size
    done = await restored(file, "--data-dir", str(tmp_path / "two"), "-o", "json")
    same = {name: document[name] for name in ("id", "file", "revision", "term", "bytes", "sha256")}
    told = json.loads(done.stdout)
    assert (told | same, told["into"]) == (told, str(tmp_path / "two"))


def cut(content: bytes) -> bytes:
    return content[:-20]


def flipped(content: bytes) -> bytes:
    return content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]


@pytest.mark.parametrize("damage", [cut, flipped], ids=["cut off", "one bit flipped"])
async def test_a_damaged_snapshot_is_refused_whole(
    damage: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    file = tmp_path / "fleet.snapshot"
    async with coordinated(tmp_path / "data") as rig:
        await filled(rig)
        await saved(rig, file)
    file.write_bytes(damage(file.read_bytes()))
    done = await restored(file, "--data-dir", str(tmp_path / "new"))
    assert done.exit_code == 2
    assert "take another one; nothing was restored" in done.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "words",
    [(), ("--data-dir", "d", "--etcd-endpoints", "e:1")],
    ids=["no store", "two stores"],
)
async def test_a_restore_names_one_store(words: tuple[str, ...], tmp_path: Path) -> None:
    done = await restored(tmp_path / "f", *words)
    assert done.exit_code == 2
    assert "name one store" in done.stderr


def test_a_save_without_a_coordinator_says_what_to_do(tmp_path: Path) -> None:
    words = ("snapshot", "save", str(tmp_path / "f"), "--coordinator", "127.0.0.1:1")
    done = run(*words)
    assert done.exit_code == 3
    assert "start one, or name another with --coordinator" in done.stderr


async def test_a_leader_saves_by_the_clock(tmp_path: Path) -> None:
    clock, folder = ManualClock(), tmp_path / "snapshots"
    settings = replace(QUICK, snapshot_dir=str(folder), snapshot_interval=Seconds(300.0))

    stores: list[MemoryStore] = []

    def store(_settings: object, me: Leader, _clock: object) -> MemoryStore:
        stores.append(MemoryStore(SharedRows(), me, clock))
        return stores[0]

    async with coordinated(tmp_path, settings, clock=clock, store=store) as rig:
        await rig.reported()
        assert not folder.exists()
        await clock.advance(299)
        assert await age_of_snapshot(rig) == 299
        await clock.advance(2)
        await until((folder / LATEST).exists)
        assert snapshot_of((folder / LATEST).read_bytes()).meta.term == 1
        await until_told(lambda: aged(rig, 1))
        stores[0].fault = Fault.DOWN
        stores[0].lose()
        await until(lambda: not rig.process.leading.leads)
        assert await age_of_snapshot(rig) is None


async def aged(rig: CoordinatorRig, seconds: float) -> bool:
    return await age_of_snapshot(rig) == seconds


async def age_of_snapshot(rig: CoordinatorRig) -> float | None:
    """As the page says; None: it does not."""
    _, text = await rig.page("/metrics")
    name = "bigfleet_coordinator_snapshot_age_seconds "
    ages = [line.removeprefix(name) for line in text.splitlines() if line.startswith(name)]
    return float(ages[0]) if ages else None
