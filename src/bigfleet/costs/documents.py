"""A report of costs as a JSON document."""

from collections.abc import Mapping
from typing import Any

from bigfleet.model.costs import Amounts, CostPeriod, CostRow, RedFlag
from bigfleet.model.instants import instant_text

Document = dict[str, Any]
#: By field of Amounts: its name per hour, and over a time.
NAMES: Mapping[str, tuple[str, str]] = {
    "machines": ("machines", "machineHours"),
    "committed": ("committedMachines", "committedMachineHours"),
    "unvalued": ("unvaluedMachines", "unvaluedMachineHours"),
    "billed": ("billedDollarsPerHour", "billedDollars"),
    "imputed": ("imputedDollarsPerHour", "imputedDollars"),
    "interruption": (
        "expectedInterruptionDollarsPerHour",
        "expectedInterruptionDollars",
    ),
    "pinned": ("pinnedMachines", "pinnedMachineHours"),
    "waste": ("wasteDollarsPerHour", "wasteDollars"),
    "idle": ("idleDollarsPerHour", "idleDollars"),
    "stranded": ("strandedDollarsPerHour", "strandedDollars"),
}


def amounts_document(amounts: Amounts, *, per_hour: bool) -> Document:
    place = 0 if per_hour else 1
    return {names[place]: getattr(amounts, field) for field, names in NAMES.items()}


def row_document(row: CostRow, *, per_hour: bool) -> Document:
    shared = "sharedIdleDollarsPerHour" if per_hour else "sharedIdleDollars"
    return {
        "name": row.name,
        **amounts_document(row.amounts, per_hour=per_hour),
        shared: row.shared,
    }


def flag_document(flag: RedFlag) -> Document:
    return {
        "severity": flag.severity.value,
        "code": flag.code,
        "subject": flag.subject,
        "count": flag.count,
        "text": flag.text,
    }


def period_document(period: CostPeriod) -> Document:
    return {
        "from": instant_text(period.begins),
        "to": instant_text(period.ends),
        "observedSeconds": period.observed_seconds,
        "unobservedHours": period.unobserved_count,
        "unobserved": [instant_text(each) for each in period.unobserved],
        "partialHours": period.partial_count,
        "keptSince": instant_text(period.kept_since) if period.kept_since else None,
    }
