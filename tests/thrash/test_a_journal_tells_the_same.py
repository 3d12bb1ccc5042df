"""A live shard, its journal and a saved witness tell the same of what went back and forth."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from bigfleet.journal.history import History, RecordedCycle
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.recorder import Recorder
from bigfleet.journal.segments import segments_in
from bigfleet.journal.thrash import RecordedThrash, first_needed, thrash_until
from bigfleet.model.fleet import Fleet
from bigfleet.model.journal import CycleOutput
from bigfleet.model.machines import MachineState
from bigfleet.model.thrash import ThrashFinding, ThrashKind
from bigfleet.plan.cycle import decide_fleet, engine_input_of
from bigfleet.thrash.findings import Findings
from bigfleet.wire.journal_records import record_of
from tests.closedloop.laws import slow_world
from tests.closedloop.simulator import Simulator
from tests.generated.agreement import SomeDecision
from tests.generated.fleets import fleet_of_seed
from tests.shard_cases.rig import machine
from tests.thrash.loops import WatchedLoop
from tests.thrash.recorded import RecordedRig, all_enqueued, without_provider
from tests.thrash.test_a_shard_holds_what_thrashes import drained, settings_of, wants
from tests.thrash.test_closed_loops_are_calm import loop_of, theft
from tests.worlds.fleets import NOW


def came_back() -> RecordedRig:
    rig = RecordedRig(settings_of(), [machine("m-1", MachineState.IDLE)])
    for wanted in (1, 0, 1, 0, 1):
        wants(rig, wanted)
        if not wanted:
            drained(rig, "m-1")
    return rig


def test_a_live_shard_and_its_records_have_the_same_findings() -> None:
    rig = came_back()
    recorder = Recorder("shard-0", 3, "0.3.0")
    records = [record for cycle in rig.cycles for record in recorder.record(cycle)]
    records += recorder.flush()
    told = thrash_until(History().cycles(map(record_of, records)))
    assert told is not None
    live = rig.state.parts.thrash.findings()
    assert [each.kind for each in live] == [ThrashKind.RETURN]
    assert [*map(without_provider, told.findings)] == [*map(without_provider, live)]
    assert [each.text for each in told.findings] == [each.text for each in live]
    assert told.name == f"3:{rig.cycles[-1].given.cycle}"


def test_what_was_found_before_a_restart_is_told_of_the_cycles_before_it() -> None:
    cycles = [
        RecordedCycle(each.given, CycleOutput(tuple(each.actions), b"", b""), False, epoch)
        for epoch in (1, 2)
        for each in came_back().cycles[: 5 if epoch == 1 else 1]
    ]
    before = cycles[4].given.cycle
    first, latest = thrash_until(cycles, (1, before)), thrash_until(cycles)
    assert first is not None
    assert latest is not None
    assert (len(first.findings), len(latest.findings)) == (1, 0)
    assert thrash_until(cycles, (1, 99)) is None


def test_of_an_engine_without_reservations_a_journal_finds_what_a_watcher_does() -> None:
    """Preemptions too, whose deficits a journal does not keep: its cycles are decided again."""
    kinds = set[ThrashKind]()
    worlds: list[Simulator] = [loop_of(theft()).world]
    for seed in range(20_000, 20_020):
        fleet = fleet_of_seed(seed)
        worlds.append(slow_world(replace(fleet, now=fleet.now or NOW), seed))
    for world in worlds:
        live, told = live_and_recorded(world)
        assert [*map(without_provider, told)] == [*map(without_provider, live)], world.fleet
        kinds |= {finding.kind for finding in live}
    assert kinds >= {ThrashKind.REPEATED, ThrashKind.RETURN}


def live_and_recorded(world: Simulator) -> tuple[Sequence[ThrashFinding], Sequence[ThrashFinding]]:
    read, cycles = RecordedThrash(), list[RecordedCycle]()

    def decide(fleet: Fleet) -> SomeDecision:
        forgetful = replace(fleet, memory=replace(fleet.memory, reservations={}))
        given = replace(engine_input_of(forgetful), cycle=len(cycles) + 1)
        actions = all_enqueued(given.cycle, given.decide(), given.at)
        cycles.append(RecordedCycle(given, CycleOutput(actions, b"", b""), False, 1))
        read.read(cycles[-1])
        return decide_fleet(forgetful)

    loop = WatchedLoop(world, decide)
    findings = Findings()
    for seen in loop.run(30):
        findings.add(seen)
    at = cycles[-1].given.at
    findings.expire(at)
    return findings.all(), read.findings(at)


# -- the verb --------------------------------------------------------------------------------------


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    file = JournalFile(tmp_path / "journal", "shard-0", 3, "0.3.0", JournalLimits())
    file.prepare()
    for cycle in came_back().cycles:
        file.record(cycle, cycle.given.at)
    file.close()
    return tmp_path / "journal"


def run(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(cli, ["reports", "thrash", *words])


def test_a_journal_is_asked_like_a_shard(journal: Path) -> None:
    answer = run("--journal", str(journal))
    assert answer.exit_code == 0, answer.output
    assert "The half hour before cycle 3:5 of shard-0." in answer.stdout
    assert "m-1 left shop and came back" in answer.stdout
    assert "Calm" in run("--journal", str(journal), "--at", "2").stdout


def test_a_saved_witness_shows_the_same_alone(journal: Path, tmp_path: Path) -> None:
    saved = tmp_path / "w.yaml"
    saved.write_text(run("--journal", str(journal), "--witness", "1").stdout)
    again = run("--journal", str(saved))
    assert again.exit_code == 0, again.output
    assert "m-1 left shop and came back" in again.stdout
    assert run("--journal", str(saved), "--witness", "1").stdout == saved.read_text()


def test_the_first_segment_that_matters_is_read_first(journal: Path) -> None:
    segments = segments_in(journal)
    assert first_needed(segments, (3, 5)) == (3, 1)


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (("--fleet", "fleet.yaml"), "a fleet file is one cycle", 2),
        (("--at", "7"), "name a --journal as well", 2),
        (("--journal", "JOURNAL", "--at", "99"), "no cycle 3:99 is recorded", 3),
        (("--journal", "JOURNAL", "--witness", "9"), "no shard has a finding 9", 3),
        (("--journal", "BAD"), "is not a witness", 2),
        (("--journal", "WORSE"), "actions[0]:", 2),
        (("--journal", "BROKEN"), "cannot be read", 2),
    ],
)
def test_what_cannot_be_answered_is_refused_with_its_reason(
    journal: Path, tmp_path: Path, words: tuple[str, ...], said: str, code: int
) -> None:
    bad, worse = tmp_path / "bad.yaml", tmp_path / "worse.yaml"
    bad.write_text("machines: []\n")
    worse.write_text("kind: Witness\nactions: [{kind: Sing}]\n")
    (broken := tmp_path / "broken.yaml").write_text("a: [")
    named = {"BROKEN": str(broken), "JOURNAL": str(journal), "BAD": str(bad), "WORSE": str(worse)}
    answer = run(*(named.get(word, word) for word in words))
    assert (answer.exit_code, said in answer.output) == (code, True), answer.output
