"""A new user in a second shell: five questions about a living fleet, two commands each at most.

One fleet of three shards, as `bigfleet up --shards 3` starts it, answers all of them.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from bigfleet.model.coordination import TransferState
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources
from bigfleet.model.session_frames import Hello, RollupFrame
from bigfleet.up.local_fleet import LocalFleet
from bigfleet.wire.rollups import rollup_bytes
from bigfleet.wire.session_client import SessionClient
from tests.shard_system.waiting import until
from tests.up.fleets import FAST, moved, running

#: No machine is as large as one unit of it.
HUGE = Resources.parse({"cpu": "4", "memory": "900Ti"})
WANTED = Need("lab", Profile.of(priority=7), HUGE, HUGE)


class Shell:
    """A second shell: it knows where the coordinator is, and nothing else."""

    def __init__(self, coordinator: str) -> None:
        self._env = {"BIGFLEET_CLI_COORDINATOR": coordinator, "COLUMNS": "200"}
        self.commands = 0

    async def says(self, *words: str, given: bytes = b"") -> str:
        result = await self.run(*words, given=given)
        assert result.exit_code == 0, result.output
        return result.stdout

    async def run(self, *words: str, given: bytes = b"") -> Result:
        self.commands += 1
        runner = CliRunner(env=self._env)
        return await asyncio.to_thread(runner.invoke, cli, words, given)


@asynccontextmanager
async def demand_of_the_lab(fleet: LocalFleet, shard: str) -> AsyncIterator[None]:
    """An operator whose Need no machine can serve."""
    process = fleet.shards[shard]
    client = SessionClient(f"127.0.0.1:{process.port}")
    async with client.open(Hello("lab", "v1alpha1")) as session:
        await session.send(RollupFrame(rollup_bytes("lab", 1, [WANTED])))
        await until(lambda: process.state.decision_loop.ledger.counts("lab").short)
        yield


async def test_five_questions_take_two_commands_each() -> None:
    async with running(replace(FAST, shards=3)) as fleet:
        transfer = await moved(fleet, TransferState.GRANTED)
        async with demand_of_the_lab(fleet, "shard-2"):
            where = fleet.addresses["coordinator"]
            await which_machines_a_cluster_has(Shell(where))
            await why_a_need_is_short(Shell(where))
            await what_is_paused_and_by_whom(Shell(where))
            await which_machine_moved_and_why(Shell(where), transfer.machine_ids[0])
            await what_a_larger_demand_would_do(Shell(where))
            await a_past_cycle_is_that_of_one_shard(Shell(where))


async def which_machines_a_cluster_has(shell: Shell) -> None:
    shown = await shell.says("machines", "cluster=shop", "state=configured")
    assert "Configured  shop" in shown
    assert "SHARD" in shown.splitlines()[0]
    assert shell.commands == 1


async def why_a_need_is_short(shell: Shell) -> None:
    shown = await shell.says("needs", "--unmet", "--cluster", "lab")
    assert "machines match but are too small: memory " in shown
    page = await shell.says("describe", "need", WANTED.key.need_id[:8])
    assert f"need/lab/{WANTED.key.need_id} is short" in page
    assert "900Ti needed" in page
    assert shell.commands == 2


async def what_is_paused_and_by_whom(shell: Shell) -> None:
    reason = ("--reason", "they migrate", "--owner", "ada")
    await shell.run("pause", "--cluster", "ml", "--kind", "reclaim", *reason)
    shell.commands = 0
    shown = await shell.says("pause", "list")
    assert "Reclaim of cluster ml" in shown
    assert "ada" in shown
    assert "they migrate" in shown
    assert shell.commands == 1


async def which_machine_moved_and_why(shell: Shell, machine: str) -> None:
    listed = json.loads(await shell.says("shards", "transfers", "--all", "-o", "json"))
    found = [item for item in listed["items"] if machine in item["machineIds"]]
    assert "is short of" in found[0]["reason"]
    story = await shell.says("machines", "story", machine)
    assert {"shard-0", "shard-1"} & set(story.split())
    assert shell.commands == 2


async def what_a_larger_demand_would_do(shell: Shell) -> None:
    now = await shell.run("snapshot", "fleet", "-")
    assert now.exit_code == 0, now.output
    plan = await shell.says("plan", "-", "--demand", "cluster=shop x3", given=now.stdout_bytes)
    # Machines on their way from one shard to another are in neither.
    there = sum(line.startswith('{"machine":') for line in now.stdout.splitlines())
    assert 0 < there <= FAST.machines
    assert f"{there:,} machines" in plan
    assert "shop" in plan
    assert "Provision" in plan or "Bootstrap" in plan
    assert shell.commands == 2


async def a_past_cycle_is_that_of_one_shard(shell: Shell) -> None:
    for words in (("needs",), ("machines",), ("reports", "shards"), ("snapshot", "fleet", "-")):
        refused = await shell.run(*words, "--at", "1")
        assert refused.exit_code == 2
        assert "every shard counts its own cycles; name one of them: --shard" in refused.stderr
