"""`bigfleet provider machines, ops, fences, failed, describe, state` against a running one."""

import asyncio
import json
import stat
from pathlib import Path

from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from bigfleet.conformance.driver import SystemClock
from bigfleet.conformance.embedded import EmbeddedLauncher
from bigfleet.conformance.launchers import Boot
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Token
from bigfleet.provider import Kind, Permanent, SQLiteStore
from tests.provider.rig import Rig, running

WHY = ["--reason", "test", "--owner", "me"]


async def asked(rig: Rig, *words: str) -> Result:
    arguments = ["provider", *words, "--addr", f"127.0.0.1:{rig.server.port}"]
    return await asyncio.to_thread(CliRunner().invoke, cli, arguments)


async def test_tables_and_json_show_the_same_machines() -> None:
    async with running() as rig:
        await rig.to_configured("m-0")
        table = (await asked(rig, "machines", "--state", "configured")).output
        assert table.splitlines()[0].split()[:3] == ["ID", "STATE", "TYPE"]
        assert table.splitlines()[1].split()[:3] == ["m-0", "Configured", "std-2"]
        shown = json.loads((await asked(rig, "machines", "-o", "json")).output)
        assert [item["id"] for item in shown["items"]] == ["m-0", "m-1", "m-2", "m-3"]


async def test_operations_and_fences_are_shown() -> None:
    async with running() as rig:
        await rig.create("m-0", Token("a", 3, 4))
        await rig.get("m-0")
        assert "op-mem1-1" in (await asked(rig, "ops")).output
        assert "succeeded" in (await asked(rig, "ops", "m-0")).output
        fences = (await asked(rig, "fences")).output
        assert fences.splitlines()[1].split() == ["a", "m-0", "3", "4"]
        pruned = await asked(rig, "fences", "prune", "--shard", "a", *WHY)
        assert pruned.output == "1 marks of a forgotten\n"


async def test_a_failed_machine_is_shown_and_repaired() -> None:
    async with running() as rig:
        rig.substrate.fail_next(Kind.CREATE, Permanent("bad image"))
        await rig.create("m-0")
        await rig.get("m-0")
        assert "error: bad image" in (await asked(rig, "failed")).output
        repaired = await asked(rig, "failed", "repair", "m-0", *WHY)
        assert repaired.output == "m-0 is now slot\n"
        assert await rig.state("m-0") is MachineState.SPECULATIVE


async def test_a_change_needs_a_reason() -> None:
    async with running() as rig:
        result = await asked(rig, "failed", "forget", "m-0")
        assert result.exit_code == 2


async def test_an_unreachable_provider_is_3_and_a_refusal_is_4() -> None:
    async with running() as rig:
        assert (await asked(rig, "failed", "adopt", "m-0", *WHY)).exit_code == 4
        assert (await asked(rig, "failed", "adopt", "x", *WHY)).exit_code == 3
    gone = await asyncio.to_thread(
        CliRunner().invoke, cli, ["provider", "machines", "--addr", "127.0.0.1:1"]
    )
    assert gone.exit_code == 3


async def test_a_backup_and_an_export_are_private_files(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "state.db", "inc")
    async with running(store=store) as rig:
        for words in (["backup"], ["export"], ["export", "--format", "go"]):
            file = tmp_path / "-".join(words)
            result = await asked(rig, "state", words[0], str(file), *words[1:])
            assert result.exit_code == 0, result.output
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            again = await asked(rig, "state", words[0], str(file), *words[1:])
            assert again.exit_code == 1
    copy = SQLiteStore(tmp_path / "backup", "new")
    assert len(copy.load().machines) == 4
    copy.close()


async def test_a_provider_without_the_admin_service_is_said_to_have_none() -> None:
    launcher = EmbeddedLauncher(SystemClock())
    provider = await launcher.boot(Boot("core", seed_count=1))
    arguments = ["provider", "machines", "--addr", provider.address]
    result = await asyncio.to_thread(CliRunner().invoke, cli, arguments)
    await launcher.close()
    assert result.exit_code == 3
    assert "has no admin service" in result.output
    assert "bigfleet machines" in result.output
