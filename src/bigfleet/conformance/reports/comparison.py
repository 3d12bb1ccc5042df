"""Compares two report.json files row by row."""

from dataclasses import dataclass
from pathlib import Path

import orjson

from bigfleet.model.errors import BadInput, Problem

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
        raise BadInput([Problem(str(path), "is no report.json of a conformance run")]) from problem
