"""`bigfleet provider run sim` as a process, driven by `bigfleet provider sim VERB`."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.provider_sim import sim

RUN = "from bigfleet.cli.main import main; main()"


@dataclass(slots=True)
class RunningSim:
    process: "subprocess.Popen[str]"
    address: str

    def do(self, *words: str) -> Result:
        return CliRunner().invoke(sim, [*words, "--addr", self.address])

    def facts(self, *words: str) -> dict[str, object]:
        result = self.do(*words, "-o", "json")
        assert result.exit_code == 0, result.output
        found: dict[str, object] = json.loads(result.output)
        return found


@pytest.fixture
def stepped() -> Iterator[RunningSim]:
    words = ["provider", "run", "sim", "--addr", "127.0.0.1:0", "--metrics-addr", ""]
    with subprocess.Popen(
        [sys.executable, "-c", RUN, *words, "--clock", "stepped", "--seed", "7"],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        started = next(line for line in process.stderr if "provider.started" in line)
        try:
            yield RunningSim(process, f"127.0.0.1:{json.loads(started)['port']}")
        finally:
            process.kill()


def test_a_process_is_driven_from_the_command_line(stepped: RunningSim, tmp_path: Path) -> None:
    assert stepped.facts("advance", "1h")["now"] == "2026-01-01T01:00:00Z"
    assert stepped.facts("stock", "capacity=spot", "3") == {"pools": 1, "stock": "3"}
    table = stepped.do("state").output
    assert "std-2/sim-1a/spot" in table
    assert "2026-01-01T01:00:00Z" in table

    script = tmp_path / "script.yaml"
    script.write_text("- {at: 1m, do: hold, kind: create}\n")
    assert stepped.facts("script", str(script)) == {"entries": 1}
    stepped.facts("step-until", "state=idle", "==", "8")
    stepped.facts("advance", "2m")
    lines = [json.loads(line) for line in stepped.do("events").output.splitlines()]
    assert [e["event"] for e in lines if e["event"].startswith("control")] == [
        "control.stock",
        "control.hold",
    ]

    assert (stepped.do("price", "nowhere", "1").exit_code, stepped.do("price").exit_code) == (2, 2)
    stepped.do("crash")
    assert stepped.process.wait(20) == -signal.SIGKILL
    assert stepped.do("state").exit_code == 3


def test_every_verb_has_its_help() -> None:
    listed = CliRunner().invoke(sim, ["--help"]).output
    assert "interrupt" in listed
    assert "SELECT [FRACTION] [NOTICE]" in CliRunner().invoke(sim, ["interrupt", "--help"]).output
    assert CliRunner().invoke(sim, ["explode"]).exit_code == 2


def test_a_script_that_is_not_there_is_refused() -> None:
    result = CliRunner().invoke(sim, ["script", "nowhere.yaml"])
    assert result.exit_code == 2
    assert "nowhere.yaml" in result.output


def test_the_number_of_an_event_is_its_own_for_any_argument_names_of_a_verb(
    stepped: RunningSim,
) -> None:
    stepped.facts("list-empty", "2")
    stepped.facts("advance", "1s")
    told = json.loads(stepped.do("events").output.splitlines()[0])
    assert (told["n"], told["event"], told["count"]) == (1, "control.list-empty", "2")
