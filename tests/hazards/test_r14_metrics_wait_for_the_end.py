"""R14: metrics taken at the RPC's ack. They are taken when the end is seen."""

import pytest

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code
from tests.execution.rig import Rig

S = MachineState
SLOW_SECONDS = 30


def configuring() -> Rig:
    rig = Rig()
    rig.add("m-1", S.IDLE)
    rig.bootstrap("m-1")
    rig.give_blob()
    return rig


def completions(rig: Rig, phase: str) -> dict[str, float]:
    results = ("success", "failed", "aborted")
    counted = {
        result: rig.counts.of("phase_completions_total", phase=phase, result=result)
        for result in results
    }
    return {result: number for result, number in counted.items() if number}


def test_a_slow_configure_is_measured_to_its_end() -> None:
    rig = configuring()
    rig.wait(1)
    rig.ack("m-1", S.CONFIGURING)
    assert ("configure_phase_seconds", ()) not in rig.counts.histograms
    rig.wait(SLOW_SECONDS - 1)
    rig.lists("m-1", S.CONFIGURED)
    histogram = rig.counts.histograms["configure_phase_seconds", ()]
    assert histogram.count == 1
    assert histogram.total == pytest.approx(SLOW_SECONDS)
    assert completions(rig, "configure") == {"success": 1}


def test_every_phase_is_measured() -> None:
    rig = Rig()
    rig.add("m-1", S.SPECULATIVE)
    rig.provision("m-1")
    rig.ack("m-1", S.CREATING)
    rig.wait(10)
    rig.lists("m-1", S.IDLE)
    rig.bootstrap("m-1")
    rig.give_blob()
    rig.ack("m-1", S.CONFIGURED)
    rig.reclaim("m-1")
    rig.acknowledge()
    rig.acknowledge()
    rig.ack("m-1", S.DRAINING)
    rig.wait(20)
    rig.lists("m-1", S.IDLE)
    # A List that puts it back to where it was within the minute is doubted, and a Get asked.
    rig.show("m-1", S.IDLE)
    rig.delete("m-1")
    rig.ack("m-1", S.DELETING)
    rig.wait(5)
    rig.lists("m-1", S.SPECULATIVE)
    rig.show("m-1", S.SPECULATIVE)
    phases = ("create", "configure", "drain", "delete")
    totals = [rig.counts.histograms[f"{name}_phase_seconds", ()].total for name in phases]
    assert totals == [pytest.approx(seconds, abs=1e-6) for seconds in (10, 0, 20, 5)]
    assert [completions(rig, phase) for phase in phases] == [{"success": 1}] * 4


def test_a_phase_that_failed_is_counted_as_such_and_not_measured() -> None:
    rig = configuring()
    rig.ack("m-1", S.CONFIGURING)
    rig.lists("m-1", S.FAILED)
    assert completions(rig, "configure") == {"failed": 1}
    assert ("configure_phase_seconds", ()) not in rig.counts.histograms


def test_a_phase_that_was_rolled_back_is_counted_as_such() -> None:
    rig = configuring()
    rig.refuse("m-1", Code.UNAVAILABLE)
    rig.wait(1)
    rig.show("m-1", S.IDLE)
    assert completions(rig, "configure") == {"aborted": 1}


def test_a_release_counts_when_the_slot_is_seen_and_not_before() -> None:
    rig = Rig()
    rig.add("m-1", S.IDLE)
    rig.delete("m-1")
    rig.ack("m-1", S.DELETING)
    assert rig.counts.of("idle_releases_total") == 0
    rig.wait(60)
    rig.lists("m-1", S.SPECULATIVE)
    assert rig.counts.of("idle_releases_total") == 1


def test_no_outcome_is_counted_for_what_was_only_accepted() -> None:
    rig = Rig()
    rig.add("m-1", S.IDLE)
    rig.delete("m-1")
    rig.ack("m-1", S.DELETING)
    assert rig.outcomes() == {}
    rig.lists("m-1", S.IDLE)
    rig.show("m-1", S.IDLE)
    assert rig.outcome(ActionKind.DELETE, "unknown_rolled_back") == 1
    assert rig.counts.of("idle_releases_total") == 0
