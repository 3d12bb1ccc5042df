"""Rows, outcomes and accounts made by hand, for tests of what is made of them."""

from collections.abc import Sequence

from bigfleet.conformance.reports.document import Account
from bigfleet.conformance.rows import (
    Capabilities,
    Findings,
    Row,
    RowOutcome,
    RunsOn,
    Status,
    Suite,
)
from bigfleet.conformance.trial import Trial
from bigfleet.conformance.verdicts import verdict_of


async def no_check(trial: Trial) -> None:
    raise AssertionError("this row is never run")


def row(
    row_id: str = "B101",
    suite: Suite = "core",
    profiles: tuple[str, ...] = ("core",),
    runs_on: RunsOn = "core",
) -> Row:
    return Row(row_id, "Area", f"Title of {row_id}", no_check, suite, runs_on, profiles)


def outcome(
    row_id: str = "B101",
    status: Status = "passed",
    reason: str = "",
    suite: Suite = "core",
    profiles: tuple[str, ...] = ("core",),
) -> RowOutcome:
    return RowOutcome(row(row_id, suite, profiles), status, reason, duration_ms=1.5)


def able() -> Capabilities:
    return Capabilities(create=True, delete=True, since_revision=True, fault=True, spot=True)


def account(
    outcomes: Sequence[RowOutcome],
    profiles: tuple[str, ...] = ("core",),
    can: Capabilities | None = None,
) -> Account:
    findings = Findings(list(outcomes), can or able())
    return Account(
        provider="some provider",
        profiles=profiles,
        at=1_700_000_000_123_456_789,
        seed=1,
        assertions="corrected",
        outcomes=outcomes,
        findings=findings,
        verdict=verdict_of(outcomes, findings.capabilities, profiles),
    )
