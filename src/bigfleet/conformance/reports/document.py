"""report.json: the keys existing consumers read, in their order, and additions behind them.

Compares two report.json files row by row.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from bigfleet.conformance import SUITE_VERSION
from bigfleet.conformance.catalogue import required
from bigfleet.conformance.rows import Findings, RowOutcome, Status
from bigfleet.conformance.verdicts import RunVerdict, verdict_of
from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.instants import instant_text

Document = dict[str, object]
#: What the old runner calls the rows, by status.
STATUSES: tuple[Status, ...] = ("passed", "failed", "skipped", "not_implemented")


@dataclass(frozen=True, slots=True)
class Account:
    """Everything a report is made of."""

    provider: str
    profiles: tuple[str, ...]
    at: int
    seed: int
    assertions: str
    outcomes: Sequence[RowOutcome]
    findings: Findings
    verdict: RunVerdict

    @property
    def baseline(self) -> list[RowOutcome]:
        return [outcome for outcome in self.outcomes if outcome.row.suite == "baseline"]

    @property
    def behaviours(self) -> list[RowOutcome]:
        return [outcome for outcome in self.outcomes if outcome.row.suite != "baseline"]


def document_of(account: Account) -> Document:
    findings = account.findings
    return {
        "provider": account.provider,
        "profiles": list(account.profiles),
        "timestamp": instant_text(account.at // 10**9 * 10**9),
        "baseline": _counts(account.baseline),
        "extension": _counts(account.behaviours),
        "behaviors": [_entry(outcome, account.profiles) for outcome in account.behaviours],
        "summary": _summary(account),
        "verdict": account.verdict.word,
        "suite_version": SUITE_VERSION,
        "seed": account.seed,
        "assertions": account.assertions,
        "reasons": list(account.verdict.reasons),
        "profile_verdicts": profile_verdicts(account),
        "dialects": findings.capabilities.dialects(),
        "capabilities": findings.capabilities.flags(),
        "machines": {"need": findings.need, "stock": findings.stock},
        "baseline_tests": [_entry(outcome, account.profiles) for outcome in account.baseline],
        "latencies": findings.latencies.table(),
    }


def profile_verdicts(account: Account) -> dict[str, str]:
    """Each claimed profile judged alone, so that strict never blurs the others."""
    can = account.findings.capabilities
    return {
        profile: verdict_of(account.outcomes, can, (profile,)).word for profile in account.profiles
    }


def _entry(outcome: RowOutcome, profiles: Sequence[str]) -> Document:
    row = outcome.row
    entry: Document = {
        "id": row.id,
        "area": row.area,
        "title": row.title,
        "profiles": list(row.profiles),
        "phase": row.phase,
        "required": required(row, profiles),
        "status": outcome.status,
        "tests": [f"conformance[{row.id}]"],
        "reason": outcome.reason,
        "duration_ms": outcome.duration_ms,
    }
    optional: Mapping[str, object] = {
        "wire_log": list(outcome.wire_log),
        "replay": outcome.replay,
        "notes": outcome.notes,
    }
    return {**entry, **{key: value for key, value in optional.items() if value}}


def _counts(outcomes: Sequence[RowOutcome]) -> Document:
    by_status = Counter(outcome.status for outcome in outcomes)
    ran = len(outcomes) - by_status["not_implemented"]
    return {
        "tests": ran,
        "passed": by_status["passed"],
        "failed": by_status["failed"],
        "skipped": by_status["skipped"],
    }


def _summary(account: Account) -> Document:
    behaviours = account.behaviours
    by_status = Counter(outcome.status for outcome in behaviours)
    needed = Counter(o.status for o in behaviours if required(o.row, account.profiles))
    return {
        "total_behaviors": len(behaviours),
        **{status: by_status[status] for status in STATUSES},
        "required_failed": needed["failed"],
        "required_missing": needed["not_implemented"],
    }


ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Change:
    id: str
    title: str
    before: str
    after: str
    reason: str

    @property
    def worse(self) -> bool:
        """A row that passed and does not any more."""
        return self.before == "passed" and self.after in ("failed", "not_implemented", ABSENT)


def changes(before: Path, after: Path) -> list[Change]:
    old, new = _rows(before), _rows(after)
    found = []
    for row_id in {**old, **new}:
        was, now = old.get(row_id), new.get(row_id)
        if (was or {}).get("status") != (now or {}).get("status"):
            shown = now or was or {}
            found.append(
                Change(
                    row_id,
                    str(shown.get("title", "")),
                    str((was or {}).get("status", ABSENT)),
                    str((now or {}).get("status", ABSENT)),
                    str((now or {}).get("reason", "")),
                )
            )
    return found


def _rows(path: Path) -> dict[str, dict[str, object]]:
    try:
        document = orjson.loads(path.read_bytes())
        rows = [*document["behaviors"], *document.get("baseline_tests", ())]
        return {str(row["id"]): row for row in rows}
    except OSError as problem:
        raise BadInput([Problem(str(path), problem.strerror or "cannot be read")]) from problem
    except (ValueError, KeyError, TypeError) as problem:
        raise BadInput(
            [Problem(str(path), "is not a report.json of a conformance run")]
        ) from problem
