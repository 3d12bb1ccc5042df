"""What a run says about a provider: CERTIFIED, FAILED or INCOMPLETE, and why.

A row that was not run can never help: what a claimed profile requires and the run does not show
makes the verdict INCOMPLETE.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from bigfleet.conformance.catalogue import required
from bigfleet.conformance.rows import Capabilities, Findings, Row, RowOutcome

Word = Literal["CERTIFIED", "FAILED", "INCOMPLETE"]
EXIT_CODES: dict[Word, int] = {"CERTIFIED": 0, "FAILED": 1, "INCOMPLETE": 5}
EXIT_SETUP = 2
EXIT_UNREACHABLE = 3
NOT_SELECTED = "not selected"


@dataclass(frozen=True, slots=True)
class RunVerdict:
    word: Word
    #: One sentence each; empty for CERTIFIED.
    reasons: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.word]


def completed(findings: Findings, rows: Iterable[Row], profiles: Sequence[str]) -> list[RowOutcome]:
    """An outcome for every row the profiles require, run or not, in the order of the catalogue."""
    ran = {outcome.row.id: outcome for outcome in findings.outcomes}
    return [
        ran.get(row.id) or RowOutcome(row, "not_implemented", NOT_SELECTED)
        for row in rows
        if row.id in ran or required(row, profiles)
    ]


def verdict_of(
    outcomes: Sequence[RowOutcome],
    can: Capabilities,
    profiles: Sequence[str],
    *,
    shared: bool = False,
) -> RunVerdict:
    judged = [outcome for outcome in outcomes if required(outcome.row, profiles)]
    failed = [outcome.row.id for outcome in judged if outcome.status == "failed"]
    if failed:
        return RunVerdict("FAILED", (f"{_count(failed, 'required row')} failed: {_few(failed)}",))
    missing = [outcome for outcome in judged if outcome.status == "not_implemented"]
    left_out = [outcome.row.id for outcome in missing if outcome.reason == NOT_SELECTED]
    not_run = [outcome.row.id for outcome in missing if outcome.reason != NOT_SELECTED]
    # A part of the rows does not show what the provider can do, so its claims are not judged.
    reasons = [] if left_out else list(_lacks(can, profiles))
    if not_run:
        reasons.append(f"{_count(not_run, 'required row')} not run: {_few(not_run)}")
    if left_out:
        reasons.append(f"{_count(left_out, 'required row')} left out by --only")
    if shared:
        reasons.append("others used the provider (--shared)")
    return RunVerdict("INCOMPLETE", tuple(reasons)) if reasons else RunVerdict("CERTIFIED")


def _lacks(can: Capabilities, profiles: Sequence[str]) -> Iterable[str]:
    claimed = set(profiles)
    if "cloud" in claimed and not can.delete:
        yield f"cloud is claimed, but there is no Delete: {can.why_not('delete')}"
    if "spot" in claimed and not can.spot:
        yield "spot is claimed, but no machine is SPOT"
    if "fault" in claimed and not can.fault:
        yield f"fault is claimed, but there are no selectors: {can.why_not('fault')}"
    if "bare-metal" in claimed and can.delete:
        yield f"bare-metal is claimed, but there is Delete: {can.evidence.get('delete', '')}"


def _count(ids: Sequence[str], noun: str) -> str:
    return f"{len(ids)} {noun}{'s' if len(ids) != 1 else ''}"


def _few(ids: Sequence[str]) -> str:
    return ", ".join(ids[:8]) + (f" and {len(ids) - 8} more" if len(ids) > 8 else "")
