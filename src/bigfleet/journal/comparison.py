"""Two engines on the same recorded cycles: what they decide differently, in numbers and sentences.

In open mode every cycle is decided on its recorded input, so differences do not compound; in
closed mode (closed_diffs) they do. A difference that lasts is counted in each cycle in which it is
decided.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain

from bigfleet.journal.answers import Answer, AnsweredAction
from bigfleet.model.actions import ActionKind

MOST_CHANGES = 10
DEFAULT_LIMITS = "preempts>0,cost>1%,shortfalls>0"
_LIMIT = re.compile(r"(?P<name>[a-z]+)>(?P<most>[0-9]+(?:\.[0-9]+)?)(?P<percent>%?)")
_NAMES = ("changed", "cost", "penalties", "preempts", "shortfalls")


class DiffVerdict(StrEnum):
    IDENTICAL = "IDENTICAL"
    WITHIN = "WITHIN"
    BEYOND = "BEYOND"


@dataclass(frozen=True, slots=True)
class Limit:
    """More than this is beyond."""

    name: str
    most: float
    percent: bool = False

    @property
    def text(self) -> str:
        return f"{self.name}>{self.most:g}{'%' if self.percent else ''}"


def limits_of(text: str) -> list[Limit]:
    """Of `preempts>0,cost>1%`; raises ValueError in words."""
    limits = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        found = _LIMIT.fullmatch(part)
        if found is None or found["name"] not in _NAMES:
            known = ", ".join(_NAMES)
            raise ValueError(f"{part!r} is not a limit; write NAME>NUMBER, NAME one of {known}")
        if found["percent"] and found["name"] != "cost":
            raise ValueError(f"{part!r}: only cost is compared in percent")
        limits.append(Limit(found["name"], float(found["most"]), bool(found["percent"])))
    return limits


@dataclass(frozen=True, slots=True)
class Change:
    """What one Need (or one cluster, where no Need acts) gets otherwise, in the first cycle in
    which it does."""

    cycle: str
    #: The Need; where none acts the cluster, and without one the machine.
    subject: str
    #: Only in the record, and only in the candidate.
    removed: tuple[AnsweredAction, ...]
    added: tuple[AnsweredAction, ...]

    @property
    def dollars_per_hour(self) -> float:
        return _dollars(self.added) - _dollars(self.removed)

    @property
    def penalty_dollars(self) -> float:
        return _penalties(self.added) - _penalties(self.removed)

    @property
    def weight(self) -> tuple[float, float, int]:
        size = len(self.added) + len(self.removed)
        return abs(self.dollars_per_hour), abs(self.penalty_dollars), size


@dataclass(slots=True)
class Comparison:
    cycles: int = 0
    changed: int = 0
    first: str = ""
    last: str = ""
    first_changed: str = ""
    #: Changed cycles whose recorded actions are not known in full.
    unknown: int = 0
    #: By kind and cluster.
    added: Counter[tuple[str, str]] = field(default_factory=Counter)
    removed: Counter[tuple[str, str]] = field(default_factory=Counter)
    dollars_per_hour: float = 0.0
    #: What the record bought: the base of a change in percent.
    bought_per_hour: float = 0.0
    penalty_dollars: float = 0.0
    preempts: int = 0
    #: Needs by name with their priority: short with one engine and never with the other in the
    #: same cycle. Cycles whose recorded shortfalls are not known are left out.
    new_shortfalls: dict[str, int] = field(default_factory=dict)
    gone_shortfalls: dict[str, int] = field(default_factory=dict)
    #: The largest, largest first, each once.
    changes: list[Change] = field(default_factory=list)

    def take_same(self, name: str, then: Answer | None = None) -> None:
        """A cycle that both decide the same."""
        self._count(name)
        if then is not None and then.actions is not None:
            self.bought_per_hour += _bought(then.actions)

    def take(self, then: Answer, now: Answer) -> None:
        """Of one cycle, as recorded and as the candidate decides."""
        self._count(now.name)
        is_short_otherwise = self._compare_shortfalls(then, now)
        if then.actions is None or now.actions is None:
            self._note_changed(now.name)
            self.unknown += 1
            return
        self.bought_per_hour += _bought(then.actions)
        removed = _without(then.actions, now.actions)
        added = _without(now.actions, then.actions)
        if not removed and not added:
            if is_short_otherwise or _identities(then.actions) != _identities(now.actions):
                self._note_changed(now.name)
            return
        self._note_changed(now.name)
        self.added.update((each.kind, each.cluster) for each in added)
        self.removed.update((each.kind, each.cluster) for each in removed)
        self.dollars_per_hour += _dollars(added) - _dollars(removed)
        self.penalty_dollars += _penalties(added) - _penalties(removed)
        self.preempts += _preempts(added) - _preempts(removed)
        largest = [*self.changes, *_changes(now.name, removed, added)]
        largest.sort(key=lambda change: change.weight, reverse=True)
        self.changes = _told_once(largest)[:MOST_CHANGES]

    def _count(self, name: str) -> None:
        self.first = self.first or name
        self.last = name
        self.cycles += 1

    def _note_changed(self, name: str) -> None:
        self.changed += 1
        self.first_changed = self.first_changed or name

    def _compare_shortfalls(self, then: Answer, now: Answer) -> bool:
        if then.shortfalls is None or now.shortfalls is None:
            return False
        new = {k: v for k, v in now.shortfalls.items() if k not in then.shortfalls}
        gone = {k: v for k, v in then.shortfalls.items() if k not in now.shortfalls}
        self.new_shortfalls |= new
        self.gone_shortfalls |= gone
        return bool(new or gone)

    def beyond(self, limits: Iterable[Limit]) -> list[str]:
        """The limits that are passed, in words."""
        return [f"{limit.text}: {shown}" for limit in limits if (shown := self._passed(limit))]

    def verdict(self, limits: Iterable[Limit]) -> DiffVerdict:
        if not self.changed:
            return DiffVerdict.IDENTICAL
        return DiffVerdict.BEYOND if self.beyond(limits) else DiffVerdict.WITHIN

    def _passed(self, limit: Limit) -> str:
        """The amount, where it is beyond the limit."""
        match limit.name:
            case "changed":
                amount: float = self.changed
            case "cost":
                amount = self.dollars_per_hour
            case "penalties":
                amount = self.penalty_dollars
            case "preempts":
                amount = self.preempts
            case _:
                amount = len(self.new_shortfalls)
        if not limit.percent:
            return f"{amount:g}" if amount > limit.most else ""
        if amount <= 0.0:
            return ""
        if not self.bought_per_hour:
            return f"${amount:.2f}/h where nothing was bought"
        share = 100.0 * amount / self.bought_per_hour
        return f"{share:.1f}%" if share > limit.most else ""


def _identities(actions: Iterable[AnsweredAction]) -> list[tuple[str, str, str, str, int]]:
    return [each.identity for each in actions]


def _without(
    actions: Iterable[AnsweredAction], others: Iterable[AnsweredAction]
) -> tuple[AnsweredAction, ...]:
    known = {each.identity for each in others}
    return tuple(each for each in actions if each.identity not in known)


def _changes(
    cycle: str, removed: tuple[AnsweredAction, ...], added: tuple[AnsweredAction, ...]
) -> Iterator[Change]:
    subjects = dict.fromkeys(_subject(each) for each in chain(removed, added))
    for subject in subjects:
        yield Change(
            cycle,
            subject,
            tuple(each for each in removed if _subject(each) == subject),
            tuple(each for each in added if _subject(each) == subject),
        )


def _told_once(changes: Iterable[Change]) -> list[Change]:
    """What is decided otherwise in many cycles in a row is told of the first of them."""
    first: dict[tuple[object, ...], Change] = {}
    for change in changes:
        what = tuple(each.identity for each in chain(change.removed, change.added))
        first.setdefault((change.subject, len(change.removed), what), change)
    return list(first.values())


def _subject(action: AnsweredAction) -> str:
    if action.need:
        return action.need
    return f"cluster/{action.cluster}" if action.cluster else f"machine/{action.machine}"


def _dollars(actions: Iterable[AnsweredAction]) -> float:
    return sum(each.dollars_per_hour for each in actions)


def _bought(actions: Iterable[AnsweredAction]) -> float:
    return sum(max(0.0, each.dollars_per_hour) for each in actions)


def _penalties(actions: Iterable[AnsweredAction]) -> float:
    return sum(each.penalty_dollars for each in actions)


def _preempts(actions: Iterable[AnsweredAction]) -> int:
    return sum(each.kind == ActionKind.PREEMPT.label for each in actions)
