"""`bigfleet up` as people and scripts start it: a process of its own, ended by time or by hand."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import CliRunner

from bigfleet.cli.main import cli
from bigfleet.cli.up_page import open_in_browser
from bigfleet.up.ports import is_free
from bigfleet.web.page import WebPage

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
        env=os.environ | {"TMPDIR": str(temporary), "XDG_CONFIG_HOME": f"{temporary}-config"},
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
    ready = next(number for number, line in enumerate(lines) if line.startswith("ready in "))
    words = [line.split()[0] for line in lines[:ready] if line.startswith("  ")]
    assert words[:6] == ["web", "shard-0", "coordinator", "provider", "fleet", "ask"]
    assert "1,200 machines, clusters shop, ml, batch" in lines[4]
    assert all("cycle" in line for line in lines[ready + 1 :])
    assert (process.returncode, complaints) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_a_banner_of_several_shards_names_each_with_what_it_has(tmp_path: Path) -> None:
    with up(tmp_path, "--headless", "--shards", "3", "--assert") as process:
        assert process.stdout is not None
        said: list[str] = []
        while not said or "  cycle " not in said[-1]:
            said.append(process.stdout.readline())
            assert said[-1], "it has ended"
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=PATIENCE_SECONDS)
    _, _, *shards, coordinator, provider, fleet = map(str.rstrip, said[:8])
    assert [line.split()[0] for line in shards] == ["shard-0", "shard-1", "shard-2"]
    assert [line.partition("zone ")[2] for line in shards] == [
        "a; cluster shop",
        "b; cluster ml",
        "c; cluster batch",
    ]
    assert (coordinator.split()[0], provider.split()[0]) == ("coordinator", "provider")
    assert "1,200 machines" in fleet
    assert "  shard-" in said[-1]
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


#: The scheduler of every cluster leaves this deployment alone, even if there is room.
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
        (["--for", "soon"], "is not a duration"),
        (["--provider-addr", "nowhere"], "write HOST:PORT"),
        (["--web", "0.0.0.0:8080"], "write 127.0.0.1:PORT"),
        (["--shards", "0"], "x>=1"),
        (["--shards", "4"], "a shard has a zone, and there are a, b, c"),
        (["--shards", "2", "--provider-addr", "here:1"], "goes with the simulated provider"),
    ],
    ids=[
        "json without headless",
        "standing still",
        "no such size",
        "not a duration",
        "no port",
        "a page for everyone",
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


def asking(temporary: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A verb in a second shell, that knows nothing but its home."""
    program = "from bigfleet.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        env=os.environ | {"XDG_CONFIG_HOME": f"{temporary}-config"},
        check=False,
    )


def free_base() -> int:
    """So many free ports in a row."""
    return next(
        base
        for base in range(20_000 + os.getpid() % 20_000, 64_000, 10)
        if all(map(is_free, range(base, base + 10)))
    )


def test_a_second_shell_finds_the_fleet_and_is_told_when_it_is_gone(tmp_path: Path) -> None:
    base = free_base()
    with up(tmp_path, "--headless", "--port-base", str(base)) as process:
        assert process.stdout is not None
        banner: list[str] = []
        while not banner or not banner[-1].startswith("ready"):
            banner.append(process.stdout.readline().rstrip("\n"))
        assert f"export BIGFLEET_CLI_COORDINATOR=127.0.0.1:{base}" in banner
        assert "  ask it       bigfleet status  (in any shell: its context is up)" in banner
        assert max(map(len, banner)) <= 80
        shown = asking(tmp_path, "status")
        assert (shown.returncode, shown.stderr) == (0, "")
        assert "leads in term" in shown.stdout
        assert f"127.0.0.1:{base + 3}" in shown.stdout
        document = json.loads(asking(tmp_path, "context", "-o", "json").stdout)
        assert (document["name"], document["upPid"]) == ("up", process.pid)
        taken = CliRunner().invoke(cli, ["up", "--headless", "--port-base", str(base)])
        assert taken.exit_code == 2
        assert (
            f"port {base + 2}, which --port-base gives to the provider, is in use" in taken.stderr
        )
    # It was killed, and could not take its context away.
    gone = asking(tmp_path, "status", "--timeout", "3s")
    assert gone.returncode == 3
    assert gone.stderr.startswith("the fleet of context up no longer answers at ")
    with up(tmp_path, "--headless", "--for", "0.1s", "--port-base", str(free_base())) as again:
        said, _ = again.communicate(timeout=PATIENCE_SECONDS)
    assert "(in any shell: its context is up)" in said
    assert "No context is used" in asking(tmp_path, "context").stdout


def test_a_person_at_a_terminal_sees_the_map_first(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr("webbrowser.open", opened.append)

    async def shown() -> None:
        open_in_browser(cast(WebPage, SimpleNamespace(port=8080)))
        await asyncio.get_running_loop().shutdown_default_executor()

    asyncio.run(shown())
    assert opened == ["http://127.0.0.1:8080/map"]
