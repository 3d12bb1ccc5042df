"""`bigfleet reports eta` over a fleet file and a journal."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.model.machines import MachineState
from tests.shard_cases.rig import machine
from tests.thrash.recorded import RecordedRig
from tests.thrash.test_a_shard_holds_what_thrashes import settings_of, wants

FLEET = """
version: 1
kind: Fleet
machines:
  - {id: "od-{00}", count: 2, state: Speculative, capacityType: OnDemand, instanceType: std-8,
     zone: b, pricePerHour: 0.38, resources: {cpu: 8, memory: 32Gi}}
needs:
  - {cluster: shop, priority: 10, aggregateResources: {cpu: 8}, minUnit: {cpu: 2}}
  - {cluster: ml, priority: 1, aggregateResources: {cpu: 64}, minUnit: {cpu: 64}}
"""


def run(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(cli, ["reports", "eta", *words])


@pytest.fixture
def fleet(tmp_path: Path) -> str:
    (tmp_path / "fleet.yaml").write_text(FLEET)
    return str(tmp_path / "fleet.yaml")


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Needs that wait for a machine, again and again."""
    rig = RecordedRig(settings_of(), [machine("m-1", MachineState.IDLE)])
    for wanted in (1, 0, 2):
        wants(rig, wanted)
    file = JournalFile(tmp_path / "journal", "shard-0", 3, "0.3.0", JournalLimits())
    file.prepare()
    for cycle in rig.cycles:
        file.record(cycle, cycle.given.at)
    file.close()
    return tmp_path / "journal"


def test_a_fleet_file_has_assumed_durations_and_no_past(fleet: str) -> None:
    answer = run("--fleet", fleet)
    assert answer.exit_code == 0, answer.output
    assert "Forecasts of cycle 1." in answer.stdout
    assert "durations are assumed" in answer.stdout
    assert "capacity-needed" in answer.stdout
    assert "no forecast has ended yet" in answer.stdout


def test_the_document_tells_no_time_where_there_is_none(fleet: str) -> None:
    document = json.loads(run("--fleet", fleet, "-o", "json").stdout)
    told = {item["need"]["clusterId"]: item for item in document["items"]}
    assert told["shop"]["path"] == "FORECAST_PATH_PRIOR"
    assert told["shop"]["p50"] < told["shop"]["p80"] < told["shop"]["p95"]
    assert told["ml"]["path"] == "FORECAST_PATH_CAPACITY_NEEDED"
    assert "p80" not in told["ml"]
    assert document["shards"][0]["total"] == 2


def test_a_journal_is_forecast_at_each_of_its_cycles(journal: Path) -> None:
    latest = run("--journal", str(journal))
    assert latest.exit_code == 0, latest.output
    assert "Forecasts of cycle 3:3." in latest.stdout
    again = run("--journal", str(journal))
    assert again.stdout == latest.stdout
    assert "Forecasts of cycle 3:1." in run("--journal", str(journal), "--at", "1").stdout


def test_a_cycle_that_is_not_there_is_named(journal: Path) -> None:
    answer = run("--journal", str(journal), "--at", "99")
    assert answer.exit_code == 3
    assert "no cycle 3:99 is recorded" in answer.stderr
