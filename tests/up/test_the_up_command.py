"""`bigfleet up` as people and scripts start it: a process of its own, ended by time or by hand."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bigfleet.cli.main import cli

PATIENCE_SECONDS = 60


@contextmanager
def up(temporary: Path, *words: str, before: str = "") -> Iterator[subprocess.Popen[str]]:
    """`before`: what its process runs first."""
    program = f"{before}\nfrom bigfleet.cli.main import main; main()"
    command = [sys.executable, "-c", program, "up", *words]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(temporary)},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_headless_run_prints_the_banner_and_lines_and_ends_by_itself(tmp_path: Path) -> None:
    with up(tmp_path, "--headless", "--for", "2s", "--speed", "10", "--seed", "3") as process:
        said, complaints = process.communicate(timeout=PATIENCE_SECONDS)
    head, *lines = said.splitlines()
    assert head.endswith("one process, simulated fleet, seed 3, speed 10")
    assert "1,200 machines, clusters shop, ml, batch" in lines[1]
    assert lines[2].startswith("ready in ")
    assert all("cycle" in line for line in lines[3:])
    assert (process.returncode, complaints) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_a_banner_of_several_shards_names_each_with_what_it_has(tmp_path: Path) -> None:
    words = ("--headless", "--for", "2s", "--speed", "10", "--shards", "3", "--assert")
    with up(tmp_path, *words) as process:
        said, complaints = process.communicate(timeout=PATIENCE_SECONDS)
    _, *shards, coordinator, fleet, _, first = said.splitlines()[:8]
    assert [line.split()[0] for line in shards] == ["shard-0", "shard-1", "shard-2"]
    assert [line.partition("zone ")[2] for line in shards] == [
        "a; cluster shop",
        "b; cluster ml",
        "c; cluster batch",
    ]
    assert coordinator.split()[0] == "coordinator"
    assert "1,200 machines" in fleet
    assert "  shard-" in first
    assert (process.returncode, complaints) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_json_of_several_shards_tells_cycles_and_transfers(tmp_path: Path) -> None:
    words = ("--headless", "-o", "json", "--shards", "3", "--speed", "20")
    with up(tmp_path, *words) as process:
        assert process.stdout is not None
        told: list[dict[str, Any]] = []
        while not told or told[-1].get("state") != "granted":
            told.append(json.loads(process.stdout.readline()))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_SECONDS)
    cycles = [each["shard"] for each in told if each["kind"] == "cycle"]
    assert set(cycles) == {"shard-0", "shard-1", "shard-2"}
    granted = told[-1]
    assert (granted["kind"], granted["from"], granted["to"]) == ("transfer", "shard-1", "shard-0")
    assert "shard-0 is short of" in granted["reason"]
    assert process.returncode == 0


#: The scheduler of every cluster leaves this deployment alone, whatever room there is.
BROKEN_SCHEDULER = """
from dataclasses import replace
import bigfleet.sim.cluster as cluster
from bigfleet.sim.scheduler import Judgement, schedule

def blind(occupancy, pods, policy):
    pods = list(pods)
    found = schedule(occupancy, [pod for pod in pods if pod.owner != "cache"], policy)
    blinded = tuple(Judgement(p.uid, "the plug-in has crashed") for p in pods if p.owner == "cache")
    return replace(found, unschedulable=found.unschedulable + blinded)

cluster.schedule = blind
"""


def test_assert_fails_on_a_pod_that_stays_stuck_and_says_which_and_why(tmp_path: Path) -> None:
    words = ("--headless", "-o", "json", "--speed", "30", "--assert")
    with up(tmp_path, *words, before=BROKEN_SCHEDULER) as process:
        assert process.stdout is not None
        overdue: list[dict[str, Any]] = []
        while not any(each["machine"] for each in overdue):
            overdue = json.loads(process.stdout.readline())["clusters"]["shop"]["overdue"]
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 1
    [told] = [line for line in complaints.splitlines() if "pod default/cache-" in line]
    assert "is free and would take it; its scheduler says: the plug-in has crashed" in told


def test_json_is_one_object_per_cycle_and_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    with up(tmp_path, "--headless", "-o", "json") as process:
        assert process.stdout is not None
        cycles = [json.loads(process.stdout.readline())["cycle"] for _ in range(4)]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_SECONDS)
    assert cycles == sorted(set(cycles))
    assert process.returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["-o", "json"], "-o json goes with --headless"),
        (["--speed", "0"], "0.1<=x<=60"),
        (["--size", "huge"], "'small', 'medium', 'large'"),
        (["--for", "soon"], "is no duration"),
        (["--provider-addr", "nowhere"], "write HOST:PORT"),
        (["--shards", "0"], "x>=1"),
        (["--shards", "4"], "a shard has a zone, and there are a, b, c"),
        (["--shards", "2", "--provider-addr", "here:1"], "goes with the simulated provider"),
    ],
    ids=[
        "json without headless",
        "standing still",
        "no such size",
        "no duration",
        "no port",
        "no shard",
        "more shards than zones",
        "several shards of another provider",
    ],
)
def test_what_cannot_be_meant_is_refused(words: list[str], complaint: str) -> None:
    result = CliRunner().invoke(cli, ["up", *words])
    assert result.exit_code == 2
    assert complaint in result.output


def test_a_folder_another_fleet_lives_in_is_refused(tmp_path: Path) -> None:
    folder = str(tmp_path / "fleet")
    with up(tmp_path, "--headless", "-o", "json", "--data-dir", folder) as first:
        assert first.stdout is not None
        first.stdout.readline()
        with up(tmp_path, "--headless", "--data-dir", folder) as second:
            _, complaints = second.communicate(timeout=PATIENCE_SECONDS)
        assert second.returncode == 2
        assert "provider.db" in complaints


def test_a_start_that_waits_for_its_provider_can_be_ended(tmp_path: Path) -> None:
    with up(tmp_path, "--headless", "--provider-addr", "127.0.0.1:1") as process:
        assert process.stderr is not None
        assert "breaker_opened" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    assert list(tmp_path.iterdir()) == []
