"""Shards that are not there, that do not answer, and that know whom they obey."""

import json
import socket
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.cli.shard_commands.rig import FIRST, SETTINGS, WHY, LiveShard, living_shard, run, running
from tests.wire.certificates import Authority

READS = (
    "status",
    "needs",
    "clusters",
    "machines",
    "machines story m-1",
    "machines reservations",
    "quarantines",
    "pause list",
    "reports offerings",
    "reports thrash",
    "reports regret",
    "reports isolated",
    "reports invoices",
    "reports verifier",
    "reports cost",
)


@pytest.mark.parametrize("verb", READS)
async def test_a_shard_that_is_not_there_is_told_from_every_verb(verb: str) -> None:
    result = await run(*verb.split(), "--shard", "127.0.0.1:1")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "no shard answers at 127.0.0.1:1" in result.stderr
    assert "--shard" in result.stderr


async def test_a_shard_that_does_not_answer_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        result = await run("status", "--shard", address, "--timeout", "300ms")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == f"{address} did not answer within 300ms; --timeout gives it longer\n"


async def test_a_provider_is_not_a_shard(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard:
        provider = shard.process.state.settings.provider_addr[0].removeprefix("sim=")
        result = await run("status", "--shard", provider)
    assert result.exit_code == 3
    assert "is it a shard" in result.stderr


async def test_an_unknown_machine_is_answered_with_the_nearest_names(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard:
        for words in (("story",), ("clear", "--mode", "recheck", *WHY)):
            missed = await shard.run("machines", words[0], FIRST.replace("a--", "a-"), *words[1:])
            assert missed.exit_code == 3
            assert f"nearest are {FIRST}, " in missed.stderr
        far = await shard.run("machines", "story", "zzz")
        assert far.exit_code == 3
        assert "nearest" not in far.stderr


async def test_a_reader_changes_nothing(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    async with AsyncExitStack() as stack:
        own = ca.leaf("shard", "bigfleet://shard/shard-0")
        process = await running(stack, tmp_path / "data", SETTINGS, own)
        shard = LiveShard(process, tmp_path)

        def as_role(role: str, name: str = "") -> list[str]:
            files = ca.leaf(role, f"bigfleet://{role}{name}")
            names = {"--tls-cert": files.cert, "--tls-key": files.key, "--tls-ca": files.ca}
            return [word for pair in names.items() for word in map(str, pair)]

        shard.asked_with = as_role("readonly")
        assert "shard-0 is ready" in await shard.shown("status")
        for words in (
            ("pause",),
            ("resume", "--all"),
            ("machines", "clear", "m-1", "--mode", "retry"),
            ("quarantines", "release", "list", "sim", "--accept"),
            ("reports", "offerings", "--reset", "sim/a/b/Spot"),
            ("reports", "verifier", "--freeze", "none"),
        ):
            refused = await shard.run(*words, *WHY)
            assert (refused.exit_code, refused.stdout) == (4, "")
            assert "bigfleet://readonly may not do this" in refused.stderr
        assert process.state.parts.pauses.active() == ()

        shard.asked_with = as_role("admin", "/eve")
        await shard.shown("pause", *WHY, "--owner", "ada")
        (listed,) = (await shard.document("pause", "list"))["items"]
        assert (listed["audit"]["owner"], listed["createdBy"]) == ("ada", "bigfleet://admin/eve")
        for verb in ("pause list", "status", "describe shard shard-0"):
            assert "ada (bigfleet://admin/eve)" in await shard.shown(*verb.split()), verb

        shard.asked_with = ()
        plaintext = await shard.run("status", "--timeout", "5s")
        assert plaintext.exit_code == 3
        assert "without certificates" in plaintext.stderr


async def test_certificates_that_cannot_be_used_are_bad_input(tmp_path: Path) -> None:
    nothing = tmp_path / "none.pem"
    flags = [f"--tls-{name}={nothing}" for name in ("cert", "key", "ca")]
    for given in (flags, flags[:2]):
        result = await run("status", *given)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr


async def test_where_to_ask_may_be_said_in_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with living_shard(tmp_path, sim=False) as shard:
        file = tmp_path / "bigfleet.yaml"
        file.write_text(f"cli: {{shard: '{shard.address}', output: json}}\n")
        by_file = await run("status", "--config", str(file))
        assert json.loads(by_file.stdout)["shardId"] == "shard-0"
        monkeypatch.setenv("BIGFLEET_CLI_SHARD", shard.address)
        by_environment = await run("status")
        assert by_environment.stdout.startswith("shard-0 is ready")
        printed = await run("status", "--print-config", "--config", str(file))
        assert json.loads(printed.stdout)["cli.shard"]["origin"] == "environment BIGFLEET_CLI_SHARD"


async def test_a_verb_that_reads_asks_one_shard() -> None:
    result = await run("status", "--shard", "127.0.0.1:1", "--shard", "127.0.0.1:2")
    assert result.exit_code == 2
    assert "one shard" in result.stderr
