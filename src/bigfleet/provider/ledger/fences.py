"""Fencing: which tokens are stale, and how long marks are remembered.

A mark is kept per (shard, machine) and is the highest token that passed. Marks of machines the
provider knows are never dropped by themselves. Marks of unknown ids are bounded in number and age,
least recently used first, so that a caller who invents ids cannot fill the memory; one whose
machine has meanwhile become known is promoted instead of dropped.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from bigfleet.model.machines import Instant
from bigfleet.model.provider_calls import Token

UNKNOWN_MARKS = 65_536
UNKNOWN_LIFE: Instant = 24 * 3600 * 1_000_000_000


class Mark(NamedTuple):
    """Compared as a pair of signed integers: a higher epoch restarts the sequence."""

    epoch: int
    sequence: int


class MarkKey(NamedTuple):
    shard_id: str
    machine_id: str


class KeptMark(NamedTuple):
    """A mark with its key and when it last moved, as it is stored."""

    key: MarkKey
    mark: Mark
    touched_at: Instant


def mark_of(token: Token) -> Mark:
    return Mark(token.epoch, token.sequence)


def is_stale(token: Token, mark: Mark | None) -> bool:
    """Whether the token is not strictly above the mark; an absent token is never stale."""
    return not token.absent and mark is not None and mark_of(token) <= mark


class Fences:
    """All marks of a provider."""

    def __init__(
        self,
        is_known: Callable[[str], bool],
        *,
        capacity: int = UNKNOWN_MARKS,
        life: Instant = UNKNOWN_LIFE,
    ) -> None:
        self._is_known = is_known
        self._capacity = capacity
        self._life = life
        #: machine -> shard -> mark; never dropped automatically
        self._known: dict[str, dict[str, Mark]] = {}
        #: Least recently moved first.
        self._unknown: dict[MarkKey, tuple[Mark, Instant]] = {}

    def restore(self, marks: Iterable[KeptMark]) -> list[MarkKey]:
        """Takes stored marks over, oldest first; returns the keys that no longer fit."""
        dropped: list[MarkKey] = []
        for key, mark, touched_at in sorted(marks, key=lambda kept: kept.touched_at):
            dropped += self.advance(key, mark, touched_at)
        return dropped

    def mark(self, key: MarkKey, now: Instant) -> Mark | None:
        if found := self._known.get(key.machine_id, {}).get(key.shard_id):
            return found
        kept = self._unknown.get(key)
        if kept is None:
            return None
        expired = now - kept[1] > self._life and not self._is_known(key.machine_id)
        return None if expired else kept[0]

    def advance(self, key: MarkKey, mark: Mark, now: Instant) -> list[MarkKey]:
        """Sets a mark that passed; returns the keys that were dropped for it."""
        self._unknown.pop(key, None)
        if self._is_known(key.machine_id):
            self._known.setdefault(key.machine_id, {})[key.shard_id] = mark
            return []
        self._unknown[key] = (mark, now)
        return self._drop_excess(now)

    def _drop_excess(self, now: Instant) -> list[MarkKey]:
        dropped = []
        while self._unknown:
            key = next(iter(self._unknown))
            mark, touched_at = self._unknown[key]
            if len(self._unknown) <= self._capacity and now - touched_at <= self._life:
                break
            del self._unknown[key]
            if self._is_known(key.machine_id):
                self._known.setdefault(key.machine_id, {})[key.shard_id] = mark
            else:
                dropped.append(key)
        return dropped

    def retire(self, machine_id: str, now: Instant) -> list[MarkKey]:
        """The machine left the inventory: its marks age like those of any unknown id."""
        dropped = []
        for shard_id, mark in self._known.pop(machine_id, {}).items():
            dropped += self.advance(MarkKey(shard_id, machine_id), mark, now)
        return dropped

    def keys_of(self, shard_id: str) -> list[MarkKey]:
        return [key for key, _ in self.all() if key.shard_id == shard_id]

    def forget(self, keys: Iterable[MarkKey]) -> None:
        """An operator knows that the shard of these marks will never speak again."""
        for key in keys:
            self._unknown.pop(key, None)
            self._known.get(key.machine_id, {}).pop(key.shard_id, None)

    def all(self) -> Iterator[tuple[MarkKey, Mark]]:
        for machine_id, marks in self._known.items():
            for shard_id, mark in marks.items():
                yield MarkKey(shard_id, machine_id), mark
        for key, (mark, _) in self._unknown.items():
            yield key, mark
