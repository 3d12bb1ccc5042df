"""`bigfleet coordinator` as a process: up, down, killed, with a full disk, with wrong words."""

import fcntl
import json
import os
import signal
import sys
import termios
from pathlib import Path

import pytest
from click.testing import CliRunner

from bigfleet.cli.main import cli
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.wire.coordinator_admin import CoordinatorAdminClient
from bigfleet.wire.coordinator_client import CoordinatorLines
from tests.coordinator_process.rig import ADA, DEADLINE, report
from tests.shard_processes.process import Running, launched, serving
from tests.shard_system.waiting import until, until_told


def words(data_dir: Path, *more: str) -> list[str]:
    return [
        *("coordinator", "--listen", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0"),
        *("--data-dir", str(data_dir), *more),
    ]


async def leading(running: Running) -> int:
    """Its term, once it leads."""
    await until(lambda: running.logged("coordinator.leads"), lambda: running.lines)
    return int(running.logged("coordinator.leads")[0]["term"])


async def reported(running: Running, shard: str, cycle: int = 1) -> int:
    """The term of the answer."""
    lines = CoordinatorLines()
    try:
        return (await lines.report(running.address, report(shard, cycle), DEADLINE)).term
    finally:
        await lines.close()


async def shards(running: Running) -> list[str]:
    async with CoordinatorAdminClient([running.address], deadline=DEADLINE) as client:
        return [entry.shard_id for entry in await client.shards()]


async def test_killed_and_restarted_it_has_every_row_and_a_higher_term(tmp_path: Path) -> None:
    async with serving(*words(tmp_path)) as first:
        assert await leading(first) == 1
        assert await reported(first, "shard-0") == 1
        assert await reported(first, "shard-1") == 1
        await first.kill()
    async with serving(*words(tmp_path)) as second:
        assert await leading(second) == 2
        assert await shards(second) == ["shard-0", "shard-1"]
        second.send(signal.SIGTERM)
        assert await second.ended() == 0
        assert second.logged("coordinator.stopped")
    async with serving(*words(tmp_path)) as third:
        assert await leading(third) == 3
        assert await reported(third, "shard-0", 2) == 3


async def test_a_second_process_on_one_data_dir_is_refused(tmp_path: Path) -> None:
    async with serving(*words(tmp_path)) as first:
        await leading(first)
        async with launched(*words(tmp_path)) as second:
            assert await second.ended() == 2
        said = json.dumps(second.lines)
        assert f"in use by process {first.pid}" in said
        assert "--data-dir of its own" in said
        async with launched(*words(tmp_path / "b", "--listen", first.address)) as third:
            assert await third.ended() == 2
        assert f"cannot listen on {first.address}" in json.dumps(third.lines)
        assert await reported(first, "shard-0") == 1


async def test_sighup_applies_what_may_change_and_names_what_must_wait(tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("coordinator: {rebalance: {enabled: true}}\n")
    async with serving(*words(tmp_path / "data", "--config", str(config))) as running:
        config.write_text("coordinator: {rebalance: {enabled: false}, lease_ttl: 9s}\n")
        running.send(signal.SIGHUP)
        await until(lambda: running.logged("config.restart"), lambda: running.lines)
        assert "rebalance.enabled" in running.logged("config.applied")[0]["msg"]
        assert "lease_ttl" in running.logged("config.restart")[0]["msg"]
        running.send(signal.SIGTERM)
        assert await running.ended() == 0


async def test_a_full_disk_refuses_writes_and_is_forgiven(tmp_path: Path) -> None:
    async with serving(*words(tmp_path)) as running:
        await leading(running)
        await reported(running, "shard-0")
        running.fill_disk()
        async with CoordinatorAdminClient([running.address], deadline=DEADLINE) as client:
            with pytest.raises(Rejected) as told:
                await client.set_quota(ADA, provider="sim", region="eu", total=3)
            assert told.value.code is Code.UNAVAILABLE
            assert "nothing was changed" in told.value.text
            # What needs no disk goes on.
            assert await shards(running) == ["shard-0"]
            assert await client.quotas() == ()
            running.fill_disk(is_full=False)

            async def writable() -> bool:
                try:
                    return (
                        await client.set_quota(ADA, provider="sim", region="eu", total=3)
                    ).total == 3
                except Rejected:
                    return False

            await until_told(writable)
            assert (await client.quotas())[0].total == 3
            assert (await client.status(running.address)).store_error == ""


async def test_a_folder_of_snapshots_that_hangs_does_not_keep_it_from_ending(
    tmp_path: Path,
) -> None:
    async with serving(*words(tmp_path / "data")) as before:
        await leading(before)
        for number in range(50):
            await reported(before, f"shard-{number}")
        await before.kill()
    folder = tmp_path / "snapshots"
    folder.mkdir()
    # A writer into a pipe that is never emptied hangs, as on a share whose server is gone.
    pipe = folder / ".node-1.new"
    os.mkfifo(pipe)
    more = ("--snapshot-dir", str(folder), "--snapshot-interval", "100ms")
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
        async with serving(*words(tmp_path / "data", *more)) as running:
            await until(lambda: _holds(reader) >= 4096, lambda: running.lines)
            assert await shards(running)
            running.send(signal.SIGTERM)
            assert await running.ended() == 0
    finally:
        os.close(reader)


def _holds(pipe: int) -> int:
    """Bytes that have not been read."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


async def test_an_unusable_address_is_told_in_words(tmp_path: Path) -> None:
    for flag in ("--listen", "--metrics-addr"):
        async with launched(*words(tmp_path), flag, "nowhere.invalid:0") as running:
            assert await running.ended() == 2
        [said] = [line["text"] for line in running.lines if "text" in line]
        assert said.startswith("cannot listen on nowhere.invalid:0: ")


async def test_certificates_for_etcd_that_cannot_be_used_are_told_at_the_start(
    tmp_path: Path,
) -> None:
    file = tmp_path / "no.pem"
    file.write_text("no certificate")
    given = [f"--etcd-tls-{name}" for name in ("cert", "key", "ca")]
    more = [word for name in given for word in (name, str(file))]
    etcd = ("--store", "etcd", "--etcd-endpoints", "127.0.0.1:1")
    async with launched(*words(tmp_path, *etcd, *more)) as running:
        assert await running.ended() == 2
    [said] = [line["text"] for line in running.lines if "text" in line]
    assert said.startswith(f"the certificates for etcd cannot be used: {file}")


# -- words -----------------------------------------------------------------------------------------

WRONG = {
    "etcd without endpoints": (["--store", "etcd"], "name each member's host:port"),
    "endpoints without etcd": (["--etcd-endpoints", "e:2379"], "say --store etcd"),
    "half of the certificates": (
        ["--store", "etcd", "--etcd-endpoints", "e:2379", "--etcd-tls-cert", "c"],
        "etcd_tls_key and etcd_tls_ca: all three, or none",
    ),
    "half of its own certificates": (["--tls-cert", "c"], "all three, or none"),
    "https without certificates": (
        ["--store", "etcd", "--etcd-endpoints", "https://e:2379"],
        "no certificate for them; name it with --etcd-tls-cert",
    ),
    "no address": (["--metrics-addr", "everywhere"], "'everywhere' is not host:port"),
    "no port": (["--listen", "127.0.0.1:99999"], "'127.0.0.1:99999' is not host:port"),
    "one port for two": (["--metrics-addr", "127.0.0.1:7790"], "they need two ports"),
    "an address that cannot be called": (
        ["--store", "etcd", "--etcd-endpoints", "e:2379", "--listen", "0.0.0.0:7790"],
        "other replicas send callers there",
    ),
    "a name with a slash": (["--id", "a/b"], "has a slash"),
    "a key twice": (["--partition-keys", "a", "--partition-keys", "a"], "name a key twice"),
    "an unknown store": (["--store", "paper"], "not one of sqlite, etcd"),
}


@pytest.mark.parametrize(("given", "said"), WRONG.values(), ids=WRONG)
def test_what_does_not_go_together_is_told_at_the_start(given: list[str], said: str) -> None:
    done = CliRunner().invoke(cli, ["coordinator", *given, "--print-config"])
    assert done.exit_code == 2
    assert said in done.stderr


def test_every_key_has_a_flag_a_variable_and_a_place_in_a_file(tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("coordinator: {quota: {takeback_after: 5m}}\n")
    done = CliRunner(env={"BIGFLEET_COORDINATOR_LEASE_TTL": "7s"}).invoke(
        cli,
        [
            *("coordinator", "--config", str(config), "--rebalance-interval", "3s"),
            *("--print-config", "-o", "json"),
        ],
    )
    shown = json.loads(done.stdout)
    assert shown["coordinator.quota.takeback_after"]["value"] == 300
    assert shown["coordinator.lease_ttl"]["origin"] == "environment BIGFLEET_COORDINATOR_LEASE_TTL"
    assert shown["coordinator.rebalance.interval"]["origin"] == "flag --rebalance-interval"


def test_the_help_shows_one_process_and_three() -> None:
    shown = CliRunner().invoke(cli, ["coordinator", "--help"]).stdout
    assert "bigfleet coordinator --data-dir ./coord-data" in shown
    assert "--store etcd --etcd-endpoints etcd-1:2379" in shown
    assert "--quota-takeback-after" in shown
