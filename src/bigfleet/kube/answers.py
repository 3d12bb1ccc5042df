"""What an API server answers, read: one object, a page of a list, a watch event, or a problem.

An object that does not fit its record fails the whole answer. Skipping it would make a cache that
looks complete and lacks a Node or a pod, and absence is acted on; a cache that stops being fresh
is not.

What an API server refuses or fails to do, by what the caller can do about it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast

import msgspec

from bigfleet.kube.kinds import Kind


class ApiProblem(Exception):
    """A call that did not succeed. `reason` is the server's word (`NotFound`, `Expired`)."""

    def __init__(
        self, status: int, reason: str, text: str, retry_after_seconds: float | None = None
    ) -> None:
        super().__init__(text)
        #: HTTP status; 0 where no answer came.
        self.status = status
        self.reason = reason
        self.text = text
        self.retry_after_seconds = retry_after_seconds


class NotFound(ApiProblem):
    """404: the object, or the whole kind, is not there."""


class Conflict(ApiProblem):
    """409: another write came first, or a precondition (uid, resourceVersion) does not hold."""


class AlreadyExists(Conflict):
    """409 on a create."""


class Expired(ApiProblem):
    """410: the resourceVersion or continue token is too old; list anew."""


class TooMany(ApiProblem):
    """429: asked too fast, or, for an eviction, a disruption budget does not allow it now."""


class Refused(ApiProblem):
    """Any other 4xx: asking again the same way will not help. 403 names the missing right."""


class NamespaceEnding(Refused):
    """403 on a create: its namespace is being deleted, which cannot be called off."""


class Unreachable(ApiProblem):
    """No answer, a 5xx, or a server not ready yet: perhaps done; asking again may help."""


T = TypeVar("T", bound=msgspec.Struct)

#: A cause, beside the reason Forbidden.
_NAMESPACE_ENDING = "NamespaceTerminating"
#: A server whose admission has not filled its caches since it started says 403 with this text;
#: no right is missing, and waiting helps.
_NOT_READY = "not yet ready to handle request"

ADDED, MODIFIED, DELETED, BOOKMARK = "ADDED", "MODIFIED", "DELETED", "BOOKMARK"


@dataclass(frozen=True, slots=True)
class ObjectPage(Generic[T]):
    items: tuple[T, ...]
    #: Of the whole list: a watch from here misses nothing and repeats nothing.
    resource_version: str
    #: Empty on the last page.
    continue_token: str = ""


@dataclass(frozen=True, slots=True)
class WatchEvent(Generic[T]):
    #: ADDED, MODIFIED, DELETED or BOOKMARK.
    type: str
    resource_version: str
    #: None for a BOOKMARK, which only moves the resourceVersion.
    object: T | None


class _Versioned(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _OnlyVersion(msgspec.Struct):
    metadata: _Versioned = msgspec.field(default_factory=_Versioned)


class _List(msgspec.Struct, Generic[T]):
    metadata: _Versioned = msgspec.field(default_factory=_Versioned)
    items: tuple[T, ...] | None = None


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Cause(msgspec.Struct):
    reason: str = ""
    message: str = ""


class _Details(msgspec.Struct, rename="camel"):
    causes: tuple[_Cause, ...] | None = None
    retry_after_seconds: float = 0


class _Status(msgspec.Struct):
    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details | None = None


class _Served(msgspec.Struct):
    name: str


class _ServedList(msgspec.Struct):
    resources: tuple[_Served, ...] | None = None


#: Bytes that are no JSON, no text, or do not fit.
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError)
_BARE = msgspec.json.Decoder(_OnlyVersion)
_LINE = msgspec.json.Decoder(_Line)
_STATUS = msgspec.json.Decoder(_Status)
_SERVED = msgspec.json.Decoder(_ServedList)


@lru_cache(maxsize=256)
def _object_decoder(record: type[Any]) -> Callable[[bytes | msgspec.Raw], Any]:
    return cast("Callable[[bytes | msgspec.Raw], Any]", msgspec.json.Decoder(record).decode)


@lru_cache(maxsize=256)
def _list_decoder(record: type[Any]) -> Callable[[bytes], Any]:
    of_record = cast("Any", _List)[record]
    return cast("Callable[[bytes], Any]", msgspec.json.Decoder(of_record).decode)


def object_of(kind: Kind[T], body: bytes) -> T:
    try:
        return cast("T", _object_decoder(kind.record)(body))
    except _UNREADABLE as problem:
        raise _unreadable(kind, problem) from problem


def page_of(kind: Kind[T], body: bytes) -> ObjectPage[T]:
    try:
        found = cast("_List[T]", _list_decoder(kind.record)(body))
    except _UNREADABLE as problem:
        raise _unreadable(kind, problem) from problem
    return ObjectPage(found.items or (), found.metadata.resource_version, found.metadata.continue_)


def watch_event_of(kind: Kind[T], line: bytes) -> WatchEvent[T]:
    """Raises what an ERROR event stands for: Expired for 410."""
    try:
        event = _LINE.decode(line)
        if event.type == "ERROR":
            raise problem_of(0, bytes(event.object), {})
        version = _BARE.decode(event.object).metadata.resource_version
        if event.type == BOOKMARK:
            # Its object is an empty one of that kind, which need not fit a record.
            return WatchEvent(BOOKMARK, version, None)
        found = cast("T", _object_decoder(kind.record)(event.object))
        return WatchEvent(event.type, version, found)
    except _UNREADABLE as problem:
        raise _unreadable(kind, problem) from problem


def is_served(kind: Kind[T], body: bytes) -> bool:
    try:
        found = _SERVED.decode(body)
    except _UNREADABLE as problem:
        raise _unreadable(kind, problem) from problem
    return any(resource.name == kind.plural for resource in found.resources or ())


def problem_of(status: int, body: bytes, headers: Mapping[str, str]) -> ApiProblem:
    """From an answer that is not a success; `status` 0 where only the body says it."""
    try:
        said = _STATUS.decode(body)
    except _UNREADABLE:
        # Not from the API server: a load balancer or a proxy in between.
        said = _Status(message=body[:200].decode(errors="replace").strip())
    status = status or said.code or 500
    text = said.message or f"the API server answered {status} without a message"
    causes = (said.details.causes or ()) if said.details is not None else ()
    text = " ".join([text, *(c.message for c in causes if c.message and c.message not in text)])
    seconds = _retry_after(headers, said.details)
    if any(cause.reason == _NAMESPACE_ENDING for cause in causes):
        return NamespaceEnding(status, said.reason, text, seconds)
    if status == 403 and text.endswith(_NOT_READY):
        return Unreachable(status, said.reason, text, seconds)
    return _class_of(status, said.reason)(status, said.reason or str(status), text, seconds)


def _class_of(status: int, reason: str) -> type[ApiProblem]:
    if status == 409 and reason == "AlreadyExists":
        return AlreadyExists
    known: dict[int, type[ApiProblem]] = {404: NotFound, 409: Conflict, 410: Expired, 429: TooMany}
    return known.get(status) or (Refused if status < 500 else Unreachable)


def _retry_after(headers: Mapping[str, str], details: _Details | None) -> float | None:
    try:
        return max(0.0, float(headers["retry-after"]))
    except (KeyError, ValueError):
        # Absent, or a date, which no API server sends.
        return details.retry_after_seconds or None if details is not None else None


def _unreadable(kind: Kind[T], problem: Exception) -> Refused:
    text = f"the API server's {kind.plural} ({kind.api_version}) cannot be read: {problem}"
    return Refused(200, "Unreadable", text)
