"""A run: demand is served, faults are survived, laws are watched, and a seed is a run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bigfleet.simulation.scenario_file import load_scenario
from bigfleet.simulation.simulator import Simulator
from tests.architecture.tree import ROOT
from tests.simulation.planted import HANDED_OVER
from tests.simulation.scenarios import SHIPPED, SMALL, lines_of, run

DIGEST = """
import hashlib, sys, tempfile
from pathlib import Path
from bigfleet.simulation.scenario_file import load_scenario
from bigfleet.simulation.simulator import Simulator
scenario = load_scenario(sys.stdin.buffer.read())
with tempfile.TemporaryDirectory() as name:
    print(Simulator(scenario, 5, Path(name)).run().digest)
    for path in sorted(Path(name).rglob("*.bfj")):
        print(path.name, hashlib.sha256(path.read_bytes()).hexdigest())
"""
CHAOS = "chaos: {perMinute: 20, lasting: [2s, 10s], from: 5s}\n"


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_scenario_holds(path: Path, tmp_path: Path) -> None:
    scenario = load_scenario(path.read_bytes(), path.parent)
    outcome = Simulator(scenario, scenario.seed, tmp_path if scenario.replays else None).run()
    assert outcome.violations == ()
    assert [each for each in outcome.results if not each.holds] == []


def test_demand_gets_its_machines() -> None:
    outcome = run("assertions: [{name: all run, final: pods_waiting == 0}]")
    assert outcome.ok, outcome
    assert outcome.figures.time_to_cover((), 0.95) > 0


def test_the_same_seed_gives_the_same_run_and_journal_whatever_the_hash_seed() -> None:
    digests = set()
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", DIGEST],
            input=(HANDED_OVER + CHAOS).encode(),
            capture_output=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
        )
        digests.add(done.stdout)
    (told,) = digests
    assert b".bfj" in told


def test_another_seed_gives_another_run() -> None:
    assert run(CHAOS, seed=1).digest != run(CHAOS, seed=2).digest


@pytest.mark.parametrize("seed", range(2))
def test_no_law_is_broken_by_drawn_faults(seed: int) -> None:
    assert run(CHAOS, seed=seed).violations == ()


def test_a_shard_that_is_killed_comes_back_and_moves_nothing() -> None:
    kill = "faults: [{from: 35s, for: 5s, do: kill, process: shard/shard-0}]"
    outcome = run(f"{kill}\nassertions: [{{name: all run, final: pods_waiting == 0}}]")
    assert outcome.ok, outcome
    later = [line for line in lines_of(kill) if float(line.split()[0]) > 40 and "does" in line]
    assert later == []


def test_a_shard_without_its_disk_reclaims_nothing_of_what_is_in_use() -> None:
    kill = "{from: 35s, for: 5s, do: kill, process: shard/shard-0, disk: lost}"
    asserted = "assertions: [{name: nothing is taken, final: reclaims + preemptions == 0}]"
    outcome = run(f"faults: [{kill}]\n{asserted}")
    assert outcome.ok, outcome


def test_a_cluster_that_is_cut_off_keeps_what_it_has() -> None:
    cut = "{from: 35s, for: 20s, do: partition, between: [operator/shop, shard/shard-0]}"
    outcome = run(f"faults: [{cut}]\nassertions: [{{final: evictions == 0}}]")
    assert outcome.ok, outcome


def test_empty_lists_and_empty_rollups_take_nothing_away() -> None:
    """The rails take no interest in clusters and providers as small as these, unless told."""
    rails = "settings: {rails.rollup_guard_min_rows: 1, rails.list_guard_min: 1}\n"
    lists, rollups = "{from: 35s, for: 15s, do: list-empty}", "do: rollup-empty, cluster: shop"
    lies = f"faults: [{lists}, {{from: 30s, for: 9s, {rollups}}}]\n"
    outcome = run(f"{rails}{lies}assertions: [{{final: evictions + reclaims == 0}}]")
    assert outcome.ok, outcome


def test_a_lost_zone_is_covered_by_the_other() -> None:
    loss = "events: [{at: 35s, do: zone-loss, zone: a}]\nduration: 100s\n"
    base = SMALL.replace("duration: 60s\n", "").replace("count: 6", "count: 10")
    within = "{within: 60s, of: {event: zone-loss}, expect: pods_waiting == 0}"
    outcome = run(f"{loss}assertions: [{within}]", base=base)
    assert outcome.ok, outcome
    assert outcome.happenings == ((35.0, "zone-loss zone=a"),)


def test_a_paused_shard_starts_nothing_and_a_restart_lifts_no_pause() -> None:
    pause, restart = "{at: 10s, do: pause}", "{at: 15s, do: restart, process: shard/shard-0}"
    waits = "assertions: [{final: pods_waiting >= 8}]"
    assert run(f"events: [{pause}, {restart}]\n{waits}").ok


def test_the_story_tells_numbers_of_that_moment() -> None:
    outcome = run("story: [{at: 50s, say: '{pods(cluster=shop)} pods, {pods_waiting} wait'}]")
    assert outcome.happenings == ((50.0, "say 20 pods, 0 wait"),)


def test_the_journal_of_a_run_replays(tmp_path: Path) -> None:
    outcome = run("assertions: [{final: replay_identical == 1}]", journal=tmp_path)
    assert outcome.ok
    assert list(tmp_path.glob("*.bfj"))


def test_a_failed_assertion_tells_time_values_and_decisions() -> None:
    outcome = run("assertions: [{name: cheap, always: configured < 3}]")
    (result,) = outcome.results
    assert not result.holds
    assert result.seconds is not None
    assert result.values == {"configured": 3.0}
    assert "Bootstrap" in result.decisions[0]
