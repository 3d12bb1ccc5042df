"""A closed loop in virtual time: what it does, how long Needs wait, and when it is over."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.engine.decision import Decision
from bigfleet.engine.engine_input import EngineInput
from bigfleet.fleetfile import load_fleet
from bigfleet.journal.digests import output_digest
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.model.fleet import Fleet
from bigfleet.model.latencies import Latencies, latencies_of
from bigfleet.model.machines import MachineState
from bigfleet.model.what_if import SettledSide
from bigfleet.plan.cycle import cycle_input, engine_input_of
from bigfleet.whatif.applying import apply
from bigfleet.whatif.comparing import once
from bigfleet.whatif.settled import at_rest, settle
from bigfleet.whatif.settling import MOST_CYCLES, settling_cycles
from tests.generated.fleets import fleet_of_seed
from tests.journal.lives import START, LivingFleet
from tests.whatif.slow_machines import SlowMachines
from tests.whatif.test_an_overlay_is_an_edited_file import edits_of_seed
from tests.whatif.test_whatif_answers import FLEET, run

SEEDS = st.integers(0, 2**40)
#: Short enough for a few cycles, and different enough to be told apart.
QUICK = latencies_of({"create": "4s", "create.Spot": "2500ms", "configure": "3s", "drain": "2s"})


@pytest.fixture
def fleet(tmp_path: Path) -> str:
    file = tmp_path / "fleet.yaml"
    file.write_text(FLEET)
    return str(file)


# -- laws ------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(seed=SEEDS)
def test_the_first_cycle_is_what_once_decides(seed: int) -> None:
    fleet = fleet_of_seed(seed)
    overlay = edits_of_seed(Random(seed), fleet)
    base = engine_input_of(fleet)
    edited = apply(base, overlay)
    first = next(iter(settling_cycles(edited, QUICK)))
    assert output_digest(first.decision) == output_digest(edited.decide())
    told, settled = once(base, overlay, "1"), at_rest(edited, QUICK)
    assert settled.first.summary() == told.changed
    answer = settle(base, overlay, "1", QUICK)
    assert answer.settling is not None
    assert answer.settling.short_at_first == told.newly_unmet_count
    assert answer.overlay == told.overlay


@settings(max_examples=40)
@given(seed=SEEDS)
def test_machines_move_as_records_do_that_take_their_time(seed: int) -> None:
    """Columns against the slow twin, cycle by cycle."""
    fleet = fleet_of_seed(seed)
    twin = SlowMachines(fleet, Random(seed), latencies=QUICK)

    def decide(now: Fleet) -> Decision:
        return cycle_input(now).decide()

    for place, cycle in enumerate(settling_cycles(engine_input_of(fleet), QUICK, every_cycle=True)):
        if place == 15:
            break
        expected = twin.run_cycle(decide)
        assert cycle.decision.actions == expected.actions, place
        assert cycle.decision.memory == expected.memory, place


@settings(max_examples=40)
@given(seed=SEEDS)
def test_cycles_that_are_left_out_would_decide_nothing(seed: int) -> None:
    fleet = fleet_of_seed(seed)
    slow = latencies_of({"create": "9s", "configure": "6s", "drain": "7s"})
    every = list(settling_cycles(engine_input_of(fleet), slow, every_cycle=True))
    some = list(settling_cycles(engine_input_of(fleet), slow))
    until = min(every[-1].elapsed, some[-1].elapsed)
    acted = [
        [(c.elapsed, c.decision.actions) for c in cycles if c.decision.actions]
        for cycles in (every, some)
    ]
    assert [a for a in acted[0] if a[0] <= until] == [a for a in acted[1] if a[0] <= until]
    memory = {c.elapsed: c.decision.memory for c in every}
    assert all(c.decision.memory == memory[c.elapsed] for c in some if c.elapsed <= until)


@settings(max_examples=30)
@given(seed=SEEDS)
def test_what_the_sides_tell_adds_up(seed: int) -> None:
    fleet = fleet_of_seed(seed)
    overlay = edits_of_seed(Random(seed), fleet)
    answer = settle(engine_input_of(fleet), overlay, "1", QUICK)
    for side in (answer.base, answer.changed):
        rest = side.settled
        assert rest is not None
        assert rest.uncovered >= side.unsatisfied_needs
        assert rest.uncovered + rest.waiting <= side.satisfied_needs + side.unsatisfied_needs
        if rest.quiet_after_cycles is not None:
            assert rest.uncovered == side.unsatisfied_needs
            assert rest.seconds == rest.quiet_after_cycles + 1
        assert rest.time_to_cover(0.5) <= rest.time_to_cover(1.0) <= rest.seconds
    of_clusters = [dict(each.after.actions_by_kind) for each in answer.clusters]
    bound = {
        kind: sum(each.get(kind, 0) for each in of_clusters)
        for kind in ("Bootstrap", "Provision", "Preempt", "Reclaim")
    }
    told = answer.changed.actions_by_kind
    assert bound == {kind: told.get(kind, 0) for kind in bound}
    assert answer.settling is not None
    assert answer.settling.recovered <= answer.settling.short_at_first


# -- worked cases ----------------------------------------------------------------------------------


def test_a_settled_fleet_without_edits_does_nothing_and_no_need_waits(fleet: str) -> None:
    *_, last = settling_cycles(engine_input_of_file(fleet), Latencies())
    answer = settle(last.given, (), "1", Latencies())
    assert answer.base == answer.changed
    assert answer.changed.settled == SettledSide(0, 1.0, (), 0)
    assert answer.changed.settled.time_to_cover(1.0) == 0.0
    assert not answer.changed.actions_by_kind
    assert answer.settling is not None
    assert not answer.settling.waits


def engine_input_of_file(file: str) -> EngineInput:
    return engine_input_of(load_fleet(Path(file).read_bytes(), file))


def test_the_loss_of_a_zone_is_told_to_its_end(fleet: str) -> None:
    """Shop keeps 4 of its machines, takes the 4 Idle ones, which take 20 s, and 1 from batch, which
    drains for 10 s and takes 3 s more."""
    flags = ("--latency", "configure.BareMetal=20s", "--latency", "configure=3s")
    asked = ("--fleet", fleet, "--zone-loss", "b", "--settle", "--latency", "drain=10s")
    answer = run(*asked, *flags)
    assert answer.exit_code == 0, answer.output
    assert answer.output.splitlines()[:7] == [
        "What if: zone-loss b   (cycle 3:18231)",
        "5 machines leave, 3 of them in use (shop 2, batch 1).",
        "The fleet is at rest after 20s.",
        "1 Need has to wait for machines: covered after 20s.",
        "Still short after 21s: 1 Need.",
        "Of 2 Needs that the edits leave short at first, 1 recovers.",
        "Machines change hands by preemption: 1 from batch to shop.",
    ]
    assert "need/batch/" in answer.output
    assert "not covered" in answer.output
    assert "Latencies given: configure 3s, configure.BareMetal 20s, drain 10s." in answer.output
    assert "Assumed: create 30s, delete 5s (medians of the simulated" in answer.output


def test_programs_get_how_long_every_need_waits(fleet: str) -> None:
    answer = run("--fleet", fleet, "--demand", "cluster=shop x1.1", "--settle", "-ojson")
    document = json.loads(answer.output)
    assert document["settling"]["assumedLatencies"]["configure.BareMetal"] == "2m27.5s"
    assert document["settling"]["latencies"] == {}
    (wait,) = document["settling"]["waits"]
    assert wait["cluster"] == "shop"
    assert wait["coveredAfterSeconds"] == 148.0
    assert document["changed"]["settled"]["timeToCoverSeconds"]["max"] == 148.0
    assert document["changed"]["settled"]["quietAfterCycles"] == 148
    assert document["changed"]["machinesByState"] == {"Idle": 2, "Configured": 13}
    assert document["changed"]["costPerHour"] == 3.75


def test_a_machine_that_is_overdue_is_not_waited_for(fleet: str) -> None:
    stuck = "needs:\n"
    late = "{id: late, state: Deleting, capacityType: Spot, overdue: true, resources: {cpu: 8}}"
    Path(fleet).write_text(FLEET.replace(stuck, f"  - {late}\n{stuck}"))
    *_, last = settling_cycles(engine_input_of_file(fleet), QUICK)
    assert last.is_last
    machines = last.given.snapshot
    assert machines.columns.state[machines.row_of("late")] == MachineState.DELETING


def test_a_fleet_that_never_rests_is_looked_at_for_so_many_cycles(
    fleet: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bigfleet.whatif.settling.MOST_CYCLES", 2)
    answer = run("--fleet", fleet, "--zone-loss", "b", "--settle")
    assert f"not at rest after {MOST_CYCLES} cycles" in answer.output


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        pytest.param(["--latency", "create=1s"], "add --settle", id="latency of one cycle"),
        pytest.param(["--settle", "--latency", "create"], "write STEP=DURATION", id="no value"),
        pytest.param(["--settle", "--latency", "craete=1s"], "did you mean create?", id="misspelt"),
        pytest.param(["--settle", "--latency", "create=x"], "not a duration", id="no duration"),
        pytest.param(["--settle", "--latency", "create=9d"], "at most 24h", id="too long"),
        pytest.param(
            ["--settle", "--latency", "create.gold=1s"], "there are BareMetal", id="capacity type"
        ),
        pytest.param(
            ["--settle", "--latency", "create=1s", "--latency", "create=2s"], "twice", id="twice"
        ),
    ],
)
def test_latencies_that_cannot_be_meant_are_refused(
    fleet: str, flags: list[str], told: str
) -> None:
    answer = run("--fleet", fleet, *flags)
    assert answer.exit_code == 2
    assert told in answer.output


@pytest.mark.parametrize("mode", [(), ("--settle",)], ids=["once", "settle"])
def test_the_same_question_later_has_the_same_answer(tmp_path: Path, mode: tuple[str, ...]) -> None:
    """What a permalink holds: the canonical overlay and the cycle it is about."""
    file = JournalFile(tmp_path / "journal", "shard-0", 3, "0.3.0", JournalLimits())
    file.prepare()
    life = LivingFleet(5)
    for cycle in life.cycles(6):
        file.record(cycle, START)
    file.sync()
    asked = ("--journal", str(tmp_path / "journal"), *mode, "-ojson")
    then = json.loads(run(*asked, "--zone-loss", "a", "--demand", "x1.50").output)
    assert then["cycle"] == "3:6"
    for cycle in life.cycles(4):
        file.record(cycle, START)
    file.close()
    kept = tmp_path / "overlay.json"
    kept.write_text(json.dumps(then["overlay"]))
    later = run(*asked, "--at", then["cycle"], "--overlay", str(kept))
    assert json.loads(later.output) == then


def test_time_passes_where_a_file_names_none(fleet: str) -> None:
    without_time = replace(engine_input_of_file(fleet), now=None)
    rest = settle(without_time, (), "1", QUICK).changed.settled
    assert rest is not None
    assert rest.quiet_after_cycles == 3
