"""Freeze windows: times in which machines are neither reclaimed nor deleted.

Written `CRON for DURATION [cluster=A,B] [zone=A,B] [kind=Reclaim,Delete]`, such as
`0 22 * * fri for 60h cluster=shop`: the window begins whenever the five fields of the cron line say
(minute, hour, day of month, month, day of week; UTC) and lasts for the duration. Without a scope it
covers everything. As in cron, a day counts when either day field names it, if both are restricted.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bigfleet.model.actions import ActionKind
from bigfleet.model.durations import nanos_of, nanos_text
from bigfleet.model.machines import Instant

_SECOND = 1_000_000_000
_DAY = 86_400 * _SECOND
LONGEST_DAYS = 31
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
#: Name, lowest, highest, words for numbers from the lowest on.
_FIELDS: tuple[tuple[str, int, int, tuple[str, ...]], ...] = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of month", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of week", 0, 7, _DAYS),
)
FROZEN_KINDS = (ActionKind.RECLAIM, ActionKind.DELETE)
_EXAMPLE = "write it like '0 22 * * fri for 60h cluster=shop'"


class BadFreezeWindow(ValueError):
    """The text is not a freeze window; the message says why and what would do."""


@dataclass(frozen=True, slots=True)
class Cron:
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    #: 0: Sunday.
    weekdays: frozenset[int]
    #: Both day fields are restricted: either one is enough.
    either_day: bool

    def falls_on(self, day: datetime) -> bool:
        if day.month not in self.months:
            return False
        by_month, by_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return by_month or by_week if self.either_day else by_month and by_week


@dataclass(frozen=True, slots=True)
class FreezeWindow:
    text: str
    cron: Cron
    duration: int
    clusters: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    kinds: tuple[ActionKind, ...] = FROZEN_KINDS

    def ends(self, at: Instant) -> Instant | None:
        """When the window that is open at that time ends; None: none is open."""
        begun = _last_start(self.cron, at, at - self.duration)
        return None if begun is None else begun + self.duration

    def covers(self, kind: ActionKind, cluster: str, zone: str) -> bool:
        return (
            kind in self.kinds
            and (not self.clusters or cluster in self.clusters)
            and (not self.zones or zone in self.zones)
        )


def freeze_window_of(text: str) -> FreezeWindow:
    """Raises BadFreezeWindow."""
    words = text.split()
    if len(words) < 7 or words[5] != "for":
        raise BadFreezeWindow(f"{text!r} is not a freeze window; {_EXAMPLE}")
    duration = nanos_of(words[6])
    if not duration or duration > LONGEST_DAYS * _DAY:
        longest = nanos_text(LONGEST_DAYS * _DAY)
        raise BadFreezeWindow(
            f"{words[6]!r} is not how long a freeze may last; write 90m, 60h or up to {longest}"
        )
    scope = _scope_of(words[7:])
    return FreezeWindow(
        " ".join(words), _cron_of(words[:5]), duration, scope.clusters, scope.zones, scope.kinds
    )


@dataclass(slots=True)
class _Scope:
    clusters: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    kinds: tuple[ActionKind, ...] = FROZEN_KINDS


def _scope_of(words: list[str]) -> _Scope:
    scope = _Scope()
    for word in words:
        name, _, listed = word.partition("=")
        values = tuple(value for value in listed.split(",") if value)
        if name == "cluster" and values:
            scope.clusters = values
        elif name == "zone" and values:
            scope.zones = values
        elif name == "kind" and values:
            scope.kinds = tuple(map(_kind_of, values))
        else:
            raise BadFreezeWindow(
                f"{word!r} is not a scope; write cluster=A,B, zone=A,B or kind=Reclaim,Delete"
            )
    return scope


def _kind_of(word: str) -> ActionKind:
    for kind in FROZEN_KINDS:
        if word.lower() == kind.label.lower():
            return kind
    raise BadFreezeWindow(f"{word!r} cannot be frozen; only Reclaim and Delete can")


def _cron_of(words: list[str]) -> Cron:
    minutes, hours, days, months, weekdays = (
        _field_of(word, *field) for word, field in zip(words, _FIELDS, strict=True)
    )
    return Cron(
        minutes,
        hours,
        days,
        months,
        frozenset(day % 7 for day in weekdays),
        not words[2].startswith("*") and not words[4].startswith("*"),
    )


def _field_of(
    text: str, name: str, lowest: int, highest: int, names: tuple[str, ...]
) -> frozenset[int]:
    found: set[int] = set()
    for part in text.lower().split(","):
        span, _, step_text = part.partition("/")
        first_text, dash, last_text = span.partition("-")
        first = lowest if span == "*" else _number_of(first_text, lowest, names)
        last = first
        if span == "*" or (step_text and not dash):
            last = highest
        elif dash:
            last = _number_of(last_text, lowest, names)
        step = int(step_text) if _is_number(step_text) else (0 if step_text else 1)
        if "/" in part and not step_text:
            step = 0
        if not lowest <= first <= last <= highest or step < 1:
            raise BadFreezeWindow(
                f"{part!r} is not a {name} of a cron line: write a number from {lowest} to"
                f" {highest}, a range 1-5, a list 1,3, a step */15 or *"
            )
        found.update(range(first, last + 1, step))
    return frozenset(found)


def _number_of(text: str, lowest: int, names: tuple[str, ...]) -> int:
    """-1 where it is neither a number nor a name."""
    if text in names:
        return names.index(text) + lowest
    return int(text) if _is_number(text) else -1


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 2


def _last_start(cron: Cron, at: Instant, after: Instant) -> Instant | None:
    """The newest start that is not later than `at`, and later than `after`."""
    for start in _starts_before(cron, at):
        return start if start > after else None
    return None


def _starts_before(cron: Cron, at: Instant) -> Iterator[Instant]:
    """Newest first, as far back as the longest window reaches."""
    today = datetime.fromtimestamp(at // _SECOND, UTC).replace(
        hour=0, minute=0, second=0, microsecond=0
    )
    for back in range(LONGEST_DAYS + 2):
        day = today - timedelta(days=back)
        if not cron.falls_on(day):
            continue
        midnight = int(day.timestamp()) * _SECOND
        for hour in sorted(cron.hours, reverse=True):
            for minute in sorted(cron.minutes, reverse=True):
                start = midnight + (hour * 60 + minute) * 60 * _SECOND
                if start <= at:
                    yield start
