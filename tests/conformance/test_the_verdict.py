"""CERTIFIED, FAILED, INCOMPLETE: what each depends on, and the exit code it gives."""

import pytest

from bigfleet.conformance.rows import Capabilities, Findings, RowOutcome
from bigfleet.conformance.verdicts import NOT_SELECTED, completed, verdict_of
from tests.conformance.makings import able, outcome, row

PASSED = outcome("B101")
BASELINE = ("baseline",)


def test_all_passed_is_certified() -> None:
    verdict = verdict_of([PASSED], able(), ("core",))
    assert (verdict.word, verdict.exit_code, verdict.reasons) == ("CERTIFIED", 0, ())


def test_a_skip_with_evidence_does_not_hurt() -> None:
    outcomes = [PASSED, outcome("B903", "skipped", "revision is empty")]
    assert verdict_of(outcomes, able(), ("core",)).word == "CERTIFIED"


def test_a_required_failure_is_failed() -> None:
    verdict = verdict_of([PASSED, outcome("B302", "failed", "no")], able(), ("core",))
    assert (verdict.word, verdict.exit_code) == ("FAILED", 1)
    assert "B302" in verdict.reasons[0]


def test_a_failed_baseline_test_fails_every_profile() -> None:
    failed = outcome("TestConformance_LabelShape", "failed", "no", "baseline", BASELINE)
    assert verdict_of([PASSED, failed], able(), ("core",)).word == "FAILED"


def test_a_failure_outside_the_claimed_profiles_does_not_count() -> None:
    failed = outcome("X04", "failed", "no", "strict", ("strict",))
    assert verdict_of([PASSED, failed], able(), ("core",)).word == "CERTIFIED"
    assert verdict_of([PASSED, failed], able(), ("core", "strict")).word == "FAILED"


def test_a_required_row_that_was_not_run_is_incomplete() -> None:
    verdict = verdict_of([PASSED, outcome("B302", "not_implemented", "-")], able(), ("core",))
    assert (verdict.word, verdict.exit_code) == ("INCOMPLETE", 5)


def test_rows_left_out_by_hand_say_nothing_about_a_claim() -> None:
    outcomes = [PASSED, outcome("B701", "not_implemented", NOT_SELECTED, "fault", ("fault",))]
    verdict = verdict_of(outcomes, Capabilities(), ("core", "fault"))
    assert verdict.word == "INCOMPLETE"
    assert verdict.reasons == ("1 required row left out by --only",)


def test_a_failure_outweighs_what_was_not_run() -> None:
    outcomes = [outcome("B302", "not_implemented"), outcome("B303", "failed")]
    assert verdict_of(outcomes, able(), ("core",)).word == "FAILED"


@pytest.mark.parametrize(
    ("profile", "can"),
    [
        ("cloud", Capabilities(spot=True, fault=True)),
        ("spot", Capabilities(delete=True, fault=True)),
        ("fault", Capabilities(delete=True, spot=True)),
        ("bare-metal", Capabilities(delete=True)),
    ],
)
def test_a_profile_claimed_without_its_capability_is_incomplete(
    profile: str, can: Capabilities
) -> None:
    verdict = verdict_of([PASSED], can, (profile,))
    assert verdict.word == "INCOMPLETE"
    assert profile in verdict.reasons[0]


def test_a_shared_provider_is_incomplete_at_best() -> None:
    assert verdict_of([PASSED], able(), ("core",), shared=True).word == "INCOMPLETE"


def test_required_rows_that_were_not_selected_are_accounted_for() -> None:
    rows = [row("B101"), row("B302"), row("X01", "strict", ("strict",))]
    outcomes = completed(Findings([RowOutcome(rows[0], "passed")]), rows, ("core",))
    assert [(o.row.id, o.status) for o in outcomes] == [
        ("B101", "passed"),
        ("B302", "not_implemented"),
    ]
