"""R14: metrics taken at the RPC's ack. They are taken when the end is seen."""

import pytest

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code
from tests.execution.stage import Stage

S = MachineState
SLOW_SECONDS = 30


def configuring() -> Stage:
    stage = Stage()
    stage.add("m-1", S.IDLE)
    stage.bootstrap("m-1")
    stage.give_blob()
    return stage


def completions(stage: Stage, phase: str) -> dict[str, float]:
    results = ("success", "failed", "aborted")
    counted = {
        result: stage.counts.of("phase_completions_total", phase=phase, result=result)
        for result in results
    }
    return {result: number for result, number in counted.items() if number}


def test_a_slow_configure_is_measured_to_its_end() -> None:
    stage = configuring()
    stage.wait(1)
    stage.ack("m-1", S.CONFIGURING)
    assert ("configure_phase_seconds", ()) not in stage.counts.histograms
    stage.wait(SLOW_SECONDS - 1)
    stage.lists("m-1", S.CONFIGURED)
    histogram = stage.counts.histograms["configure_phase_seconds", ()]
    assert histogram.count == 1
    assert histogram.total == pytest.approx(SLOW_SECONDS)
    assert completions(stage, "configure") == {"success": 1}


def test_every_phase_is_measured() -> None:
    stage = Stage()
    stage.add("m-1", S.SPECULATIVE)
    stage.provision("m-1")
    stage.ack("m-1", S.CREATING)
    stage.wait(10)
    stage.lists("m-1", S.IDLE)
    stage.bootstrap("m-1")
    stage.give_blob()
    stage.ack("m-1", S.CONFIGURED)
    stage.reclaim("m-1")
    stage.acknowledge()
    stage.acknowledge()
    stage.ack("m-1", S.DRAINING)
    stage.wait(20)
    stage.lists("m-1", S.IDLE)
    stage.delete("m-1")
    stage.ack("m-1", S.DELETING)
    stage.wait(5)
    stage.lists("m-1", S.SPECULATIVE)
    phases = ("create", "configure", "drain", "delete")
    totals = [stage.counts.histograms[f"{name}_phase_seconds", ()].total for name in phases]
    assert totals == [pytest.approx(seconds, abs=1e-6) for seconds in (10, 0, 20, 5)]
    assert [completions(stage, phase) for phase in phases] == [{"success": 1}] * 4


def test_a_phase_that_failed_is_counted_as_such_and_not_measured() -> None:
    stage = configuring()
    stage.ack("m-1", S.CONFIGURING)
    stage.lists("m-1", S.FAILED)
    assert completions(stage, "configure") == {"failed": 1}
    assert ("configure_phase_seconds", ()) not in stage.counts.histograms


def test_a_phase_that_was_rolled_back_is_counted_as_such() -> None:
    stage = configuring()
    stage.refuse("m-1", Code.UNAVAILABLE)
    stage.wait(1)
    stage.show("m-1", S.IDLE)
    assert completions(stage, "configure") == {"aborted": 1}


def test_a_release_counts_when_the_slot_is_seen_and_not_before() -> None:
    stage = Stage()
    stage.add("m-1", S.IDLE)
    stage.delete("m-1")
    stage.ack("m-1", S.DELETING)
    assert stage.counts.of("idle_releases_total") == 0
    stage.wait(60)
    stage.lists("m-1", S.SPECULATIVE)
    assert stage.counts.of("idle_releases_total") == 1


def test_no_outcome_is_counted_for_what_was_only_accepted() -> None:
    stage = Stage()
    stage.add("m-1", S.IDLE)
    stage.delete("m-1")
    stage.ack("m-1", S.DELETING)
    assert stage.outcomes() == {}
    stage.lists("m-1", S.IDLE)
    assert stage.outcome(ActionKind.DELETE, "unknown_rolled_back") == 1
    assert stage.counts.of("idle_releases_total") == 0
