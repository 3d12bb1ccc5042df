"""A disk fills up, people go on giving orders, and then the process is killed: what was
acknowledged is there afterwards, and what could not be kept was refused with the reason."""

import asyncio
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from bigfleet.model.pauses import PauseScope
from bigfleet.model.provider_calls import Code, CreateCall, Rejected, Token
from bigfleet.model.shard_admin import Audit, PauseCall, ResumeCall
from bigfleet.wire.coordinator_admin import CoordinatorAdminClient
from bigfleet.wire.provider_admin import ProviderAdminClient, Verb
from bigfleet.wire.provider_client import ProviderClient
from bigfleet.wire.shard_admin import ShardAdminClient
from tests.nightly import IS_NIGHTLY
from tests.shard_processes.process import provider_words, serving, shard_words
from tests.shard_system.rig import offered, provided
from tests.shard_system.waiting import until, until_told

ADA = Audit("ada", "the zone moves")
#: Pauses that were asked for while the disk was full; six of them were lost once.
ORDERS = 200 if IS_NIGHTLY else 6
FULL = "the disk is full"


def pause_of(name: str) -> PauseCall:
    return PauseCall(ADA, PauseScope(cluster_ids=(name,)), pause_id=name)


async def created(client: ProviderClient, number: int) -> str:
    machines, _ = await client.list()
    machine = machines[number].id
    await client.create(CreateCall(machine, Token("shard-0", 1, number + 1)))
    return machine


async def _writes_everything(admin: ShardAdminClient) -> bool:
    """The journal says so with its next record."""
    return (await admin.status()).store_error == ""


async def typed(*words: str) -> Result:
    runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"})
    return await asyncio.to_thread(runner.invoke, cli, words)


async def test_a_pause_is_on_disk_or_it_is_refused(tmp_path: Path) -> None:
    """Six pauses were confirmed with the disk full, and were gone after a kill -9."""
    async with provided(tmp_path, [offered("bare_metal", 2)]) as provider:
        words = shard_words(tmp_path / "data", provider.address)
        async with serving(*words) as shard, ShardAdminClient(shard.address) as admin:
            await admin.pause(pause_of("before"))
            shard.fill_disk()
            for number in range(ORDERS):
                with pytest.raises(Rejected, match=FULL) as refused:
                    await admin.pause(pause_of(f"during-{number}"))
                assert refused.value.code is Code.RESOURCE_EXHAUSTED
            with pytest.raises(Rejected, match=FULL):
                await admin.resume(ResumeCall(ADA, "before"))
            with pytest.raises(Rejected, match=FULL):
                await admin.reset_offering(ADA, name="p0/std-8/sim-1a/ON_DEMAND")
            status = await admin.status()
            assert [each.pause_id for each in status.pauses] == ["before"]
            assert FULL in status.store_error
            told = await typed("status", "--shard", shard.address)
            assert FULL in told.output
            order = await typed("pause", "--shard", shard.address, "--reason", "stop")
            assert (order.exit_code, FULL in order.output) == (4, True)
            shard.fill_disk(is_full=False)
            # Each order is a new try: no restart, and no waiting for a background task.
            await admin.pause(pause_of("after"))
            await admin.resume(ResumeCall(ADA, "before"))
            await until_told(partial(_writes_everything, admin))
            shard.fill_disk()
            with pytest.raises(Rejected, match=FULL):
                await admin.pause(pause_of("too-late"))
            await shard.kill()
        async with serving(*words) as shard, ShardAdminClient(shard.address) as admin:
            assert [each.pause_id for each in (await admin.status()).pauses] == ["after"]


async def test_a_provider_with_a_full_disk_refuses_its_orders_and_says_so(tmp_path: Path) -> None:
    words = provider_words(tmp_path, [offered("on_demand", 3)], "127.0.0.1:0")
    async with serving(*words) as running:
        async with (
            ProviderAdminClient(running.address) as admin,
            ProviderClient(running.address) as client,
        ):
            machine = await created(client, 0)
            running.fill_disk()
            why = {"owner": "ada", "reason": "clean-up"}
            for verb, said in (
                (Verb.PRUNE_FENCES, {"shard_id": "shard-0"}),
                (Verb.ACCEPT_DESCRIBE, {}),
            ):
                with pytest.raises(Rejected, match=FULL) as refused:
                    await admin.do(verb, {**said, **why})
                assert refused.value.code is Code.RESOURCE_EXHAUSTED
            for _ in range(5):
                with pytest.raises(Rejected, match=FULL):
                    await created(client, 1)
            order = await typed(
                *("provider", "fences", "prune", "--addr", running.address),
                *("--shard", "shard-0", "--reason", "clean-up"),
            )
            assert (order.exit_code, FULL in order.output) == (4, True)
        await running.kill()
        # Why, once, however often it is asked for something; and each call that it cost.
        (failed,) = running.logged("store.failed")
        assert (failed["level"], FULL in failed["text"]) == ("error", True)
        refusals = [line for line in running.logged("rpc") if line["reason"] == "store"]
        assert [line["level"] for line in refusals] == ["error"] * 5
    async with serving(*words) as running, ProviderAdminClient(running.address) as admin:
        marks = (await admin.do(Verb.FENCES)).answer["items"]
        assert marks == [{"shard": "shard-0", "machine": machine, "epoch": 1, "sequence": 1}]


async def test_a_coordinator_with_a_full_disk_refuses_its_orders_and_says_so(
    tmp_path: Path,
) -> None:
    listen = ("--listen", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0")
    words = ["coordinator", *listen, "--data-dir", str(tmp_path)]
    async with serving(*words) as running:
        await until(lambda: running.logged("coordinator.leads"), lambda: running.lines)
        async with CoordinatorAdminClient([running.address], deadline=30.0) as client:
            await client.set_quota(ADA, provider="sim", region="eu", total=3)
            running.fill_disk()
            with pytest.raises(Rejected, match=FULL):
                await client.set_quota(ADA, provider="sim", region="eu", total=7)
            with pytest.raises(Rejected, match=FULL):
                await client.pause(pause_of("fleet"))
            assert FULL in (await client.status(running.address)).store_error
            order = await typed(
                *("quotas", "set", "--provider", "sim", "--region", "eu", "--total", "9"),
                *("--coordinator", running.address, "--reason", "more"),
            )
            assert (order.exit_code, FULL in order.output) == (4, True)
            told = await typed("status", "--coordinator", running.address)
            assert FULL in told.output
        await running.kill()
        errors = [line for line in running.lines if line.get("level") == "error"]
        assert errors
        assert all(FULL in line["msg"] for line in errors)
    async with serving(*words) as running:
        await until(lambda: running.logged("coordinator.leads"), lambda: running.lines)
        async with CoordinatorAdminClient([running.address], deadline=30.0) as client:
            assert [each.total for each in await client.quotas()] == [3]
            assert not (await client.pauses(include_expired=False)).pauses
