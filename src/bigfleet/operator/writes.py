"""Writes to objects of ours, and what is known of an object between two of them.

A plan names one next write, never a list: it is made from the object as it is now, so every change
in between (a newer update, a user's deletion, another replica) is taken in before the next step.
No write carries a resourceVersion; the newest knowledge wins.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from bigfleet.kube.calls import Body
from bigfleet.kube.objects import Meta


@dataclass(frozen=True, slots=True)
class Create:
    name: str
    body: Body

    @property
    def op(self) -> str:
        return "create"


@dataclass(frozen=True, slots=True)
class PatchSpec:
    name: str
    patch: Body

    @property
    def op(self) -> str:
        return "spec_update"


@dataclass(frozen=True, slots=True)
class PatchStatus:
    name: str
    patch: Body

    @property
    def op(self) -> str:
        return "status_update"


@dataclass(frozen=True, slots=True)
class Delete:
    name: str
    #: Another object of the same name stays.
    uid: str

    @property
    def op(self) -> str:
        return "delete"


Write = Create | PatchSpec | PatchStatus | Delete


def map_patch(have: Mapping[str, object], want: Mapping[str, object]) -> dict[str, object]:
    """A merge patch from one map to another: what changed, and None for what must go."""
    gone: dict[str, object] = {key: None for key in have if key not in want}
    return gone | {key: value for key, value in want.items() if have.get(key) != value}


class _Versioned(Protocol):
    @property
    def metadata(self) -> Meta: ...


V = TypeVar("V", bound=_Versioned)


class LatestSeen(Generic[V]):
    """A cache of objects and, where the cache has not caught up with a write, its answer.

    Without it every second look at an object would repeat the write the first one made.
    """

    def __init__(self) -> None:
        self._cached: dict[str, V] = {}
        #: Answers the cache has not shown yet; None: deleted by us.
        self._answers: dict[str, V | None] = {}
        #: What a deletion of ours was about: that object may still show up once or twice.
        self._deleted_uid: dict[str, str] = {}

    def of(self, name: str) -> V | None:
        if name in self._answers:
            return self._answers[name]
        return self._cached.get(name)

    def names(self) -> list[str]:
        """Of all objects that are there, in name order."""
        names = self._cached.keys() | self._answers.keys()
        return sorted(name for name in names if self.of(name) is not None)

    def __len__(self) -> int:
        return len(self.names())

    def on_cached(self, name: str, seen: V | None) -> None:
        """The watch showed the object, or its deletion (None)."""
        answer = self._answers.get(name)
        if seen is None:
            gone = self._cached.pop(name, None)
            if answer is None or gone is None or gone.metadata.uid == answer.metadata.uid:
                self._forget(name)
            return
        self._cached[name] = seen
        if answer is not None:
            if not _older(seen, answer):
                self._forget(name)
        elif self._deleted_uid.get(name) != seen.metadata.uid:
            self._forget(name)

    def on_answer(self, name: str, answer: V) -> None:
        """A write, or a read past the cache, came back with this."""
        self._forget(name)
        cached = self._cached.get(name)
        if cached is None or _older(cached, answer):
            self._answers[name] = answer

    def on_gone(self, name: str) -> None:
        """The server said that the object is gone, even if the cache still shows it."""
        self._forget(name)
        cached = self._cached.get(name)
        if cached is not None:
            self._answers[name] = None
            self._deleted_uid[name] = cached.metadata.uid

    def _forget(self, name: str) -> None:
        self._answers.pop(name, None)
        self._deleted_uid.pop(name, None)


def _older(one: _Versioned, other: _Versioned) -> bool:
    """By resourceVersion, which counts up over all objects of a kind."""
    return _version(one) < _version(other)


def _version(each: _Versioned) -> int:
    text = each.metadata.resource_version
    return int(text) if text.isdecimal() else 0
