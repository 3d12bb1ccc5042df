"""`bigfleet podwatch` as a process: up, at work, told to stop, and with words that cannot be."""

import json
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner

from bigfleet.cli.main import cli
from bigfleet.kube.kinds import LEASES, PODS
from tests.kube_api import FakeApiServer, kubeconfig_for
from tests.podwatch.pods import pod_json
from tests.podwatch.rig import requests
from tests.shard_processes.process import launched, serving


def words(server: FakeApiServer, folder: Path, *more: str) -> list[str]:
    file = folder / "kubeconfig"
    file.write_text(kubeconfig_for(server))
    return ["podwatch", "--kubeconfig", str(file), "--metrics-addr", "127.0.0.1:0", *more]


async def test_it_works_until_it_is_told_to_stop_and_gives_the_lease_back(tmp_path: Path) -> None:
    async with FakeApiServer() as server:
        server.put(PODS, pod_json("web-1"))
        async with serving(*words(server, tmp_path)) as running:
            await server.until(lambda: requests(server, "uid-web-1"))
            (off,) = running.logged("provisioning_requests.off")
            assert off["msg"].endswith("shard_addr and cluster_id not set")
            # It dials nothing but the API server.
            assert not running.logged("tls.off")
            running.send(signal.SIGTERM)
            assert await running.ended() == 0
            assert running.logged("podwatch.stopped")
        (lease,) = server.objects(LEASES).values()
        assert (lease["metadata"]["name"], lease["spec"]["holderIdentity"]) == (
            "bigfleet-podwatch",
            "",
        )


async def test_a_cluster_that_cannot_be_read_in_time_ends_it_with_one(tmp_path: Path) -> None:
    async with FakeApiServer() as server:
        server.fail("list", "capacityrequests", status=404, times=10**6)
        async with launched(*words(server, tmp_path, "--sync-timeout", "500ms")) as running:
            assert await running.ended() == 1
        (died,) = running.logged("podwatch.died")
        # On a busy machine other kinds are not read in time either.
        kinds, could_not_be_read, _ = died["msg"].partition(" could not be read from ")
        assert "capacityrequests" in kinds
        assert could_not_be_read
        assert "bigfleet operator crds | kubectl apply -f -" in died["msg"]


async def test_a_bad_file_of_defaults_is_refused_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / "defaults.yaml"
    file.write_text("critical:\n  interruptionPenalty: lots\n")
    async with FakeApiServer() as server:
        flag = ("--priority-class-defaults", str(file))
        async with launched(*words(server, tmp_path, *flag)) as running:
            assert await running.ended() == 2
    assert f"{file}:2: critical.interruptionPenalty" in json.dumps(running.lines)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--provisioning-requests", "true", "--cluster-id", "shop"], "shard_addr: is empty"),
        (["--provisioning-requests", "true", "--shard-addr", "s:1"], "cluster_id: is empty"),
        (["--cluster-id", "no spaces"], "cluster_id"),
        (["--buffers", "perhaps"], "is not one of auto, true, false"),
        (["--metrics-addr", "here"], "'here' is not host:port"),
        (["--shard-addr", "there"], "'there' is not host:port"),
        (["--kubeconfig", "/nowhere/config"], "no such file"),
    ],
)
def test_words_that_cannot_be_end_with_two(flags: list[str], said: str) -> None:
    result = CliRunner().invoke(cli, ["podwatch", *flags])
    assert result.exit_code == 2
    assert said in result.output


def test_a_file_may_write_its_switches_without_quotes(tmp_path: Path) -> None:
    file = tmp_path / "bigfleet.yaml"
    file.write_text("podwatch: {buffers: true, provisioning_requests: false}\n")
    shown = CliRunner().invoke(cli, ["podwatch", "--config", str(file), "--print-config"])
    assert shown.exit_code == 0
    values = {line.split()[0]: line.split()[1] for line in shown.output.splitlines() if line}
    assert values["podwatch.buffers"] == "true"
    assert values["podwatch.provisioning_requests"] == "false"
