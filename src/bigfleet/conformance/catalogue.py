"""Every row of the suite, in the order of the specification, and which of them a run has."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from bigfleet.conformance.behaviours.baseline import BASELINE
from bigfleet.conformance.behaviours.concurrency import CONCURRENCY
from bigfleet.conformance.behaviours.durability import DURABILITY
from bigfleet.conformance.behaviours.errors import ERRORS
from bigfleet.conformance.behaviours.failure import FAILURE
from bigfleet.conformance.behaviours.fencing import FENCING
from bigfleet.conformance.behaviours.fields import FIELDS
from bigfleet.conformance.behaviours.lifecycle import LIFECYCLE
from bigfleet.conformance.behaviours.listing import LISTING
from bigfleet.conformance.behaviours.metadata import METADATA
from bigfleet.conformance.behaviours.properties import PROPERTIES
from bigfleet.conformance.behaviours.scale import SCALE
from bigfleet.conformance.behaviours.strict import STRICT
from bigfleet.conformance.behaviours.strict_restarts import RESTARTS
from bigfleet.conformance.rows import Area, Row
from bigfleet.model.errors import BadInput, Problem

AREAS: tuple[Area, ...] = (
    BASELINE,
    LIFECYCLE,
    ERRORS,
    FENCING,
    CONCURRENCY,
    METADATA,
    FAILURE,
    FIELDS,
    LISTING,
    DURABILITY,
    SCALE,
    PROPERTIES,
    STRICT,
    RESTARTS,
)
ROWS: tuple[Row, ...] = tuple(row for area in AREAS for row in area)
BY_ID: dict[str, Row] = {row.id: row for row in ROWS}


PROFILES = (
    "core", "cloud", "spot", "fault", "durable", "scale", "strict", "baseline", "bare-metal",
)  # fmt: skip
#: `all` is everything but bare-metal, which contradicts cloud.
ALL = tuple(profile for profile in PROFILES if profile != "bare-metal")
DEFAULT = ("core", "cloud", "spot", "fault", "durable", "scale")
#: Rows of core that need Delete; a free pool without it is measured without them.
NEEDS_DELETE = frozenset({"B109", "B409", "B807"})


def profiles_of(text: str) -> tuple[str, ...]:
    """The profiles a list of names stands for, in the order of the specification."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in (*PROFILES, "all")]
    if unknown or not names:
        known = ", ".join((*PROFILES, "all"))
        raise BadInput([Problem("--profile", f"{text!r}: the profiles are {known}")])
    chosen = {*names, *(ALL if "all" in names else ())} - {"all"}
    return tuple(profile for profile in PROFILES if profile in chosen)


def required(row: Row, profiles: Iterable[str]) -> bool:
    claimed = set(profiles)
    if row.suite == "baseline":
        return bool(claimed)
    if "bare-metal" in claimed and "core" in row.profiles and row.id not in NEEDS_DELETE:
        return True
    return any(profile in claimed for profile in row.profiles)


def selected(rows: Iterable[Row], profiles: Iterable[str], only: Iterable[str] = ()) -> list[Row]:
    """Rows of the claimed profiles; with patterns, exactly the rows they match."""
    patterns = tuple(only)
    if not patterns:
        claimed = tuple(profiles)
        return [row for row in rows if required(row, claimed)]
    rows = list(rows)
    unmatched = [p for p in patterns if not any(fnmatchcase(row.id, p) for row in rows)]
    if unmatched:
        raise BadInput([Problem("--only", f"{p!r} matches no row; see --list") for p in unmatched])
    return [row for row in rows if any(fnmatchcase(row.id, p) for p in patterns)]
