"""One API server, asked over HTTP: the calls of `kube.calls`, lists by the page, and watches.

What may be asked again is asked again, with jittered back-off, as long as the call's deadline is
not over: reads, merge patches, and deletions bound to a uid, when the line broke or the server
failed; anything the server refused to start (429 with Retry-After), except an eviction, whose 429
is an answer. Time on the line is real time; the waits between attempts are the clock's.
"""

import re
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, Self, TypeVar

import httpx2
import msgspec

from bigfleet.edge.clock import SECOND, Clock
from bigfleet.edge.counts import Counts
from bigfleet.kube.answers import (
    ApiProblem,
    NotFound,
    ObjectPage,
    Refused,
    TooMany,
    Unreachable,
    WatchEvent,
    is_served,
    object_of,
    page_of,
    problem_of,
    watch_event_of,
)
from bigfleet.kube.calls import Body, Calls
from bigfleet.kube.credentials import NoCredentials
from bigfleet.kube.kinds import LEASES, PODS, Kind
from bigfleet.kube.objects import Pod
from bigfleet.model.backoffs import Backoff
from bigfleet.model.token_buckets import TokenBucket

T = TypeVar("T", bound=msgspec.Struct)

#: A watch that says nothing for longer is taken for dead: above the 60 to 75 s between bookmarks.
SILENCE_SECONDS = 90.0
#: Reason of the Unreachable that stands for it: nothing was heard, for however long that was.
SILENT = "Silent"
#: Reason of the Unreachable for a write that `may_write` held back.
NOT_LEADING = "NotLeading"
_CONNECT_SECONDS = 10.0
_WAITS = Backoff(0.1, 5.0)
#: What a call may end with instead of an answer; a token that cannot be read now is an OSError.
_NO_ANSWER = (httpx2.HTTPError, httpx2.StreamError, NoCredentials, OSError)
#: As API servers allow them in paths; an empty one would name the whole collection.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*")


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    content_type: str = "application/json"
    #: Doing it twice is doing it once.
    again_after_loss: bool = False
    again_after_429: bool = True
    #: Leases are not held up by the traffic they guard.
    is_paced: bool = True


class Writer(Protocol):
    """The replica whose writes an Api sends."""

    def may_write(self) -> bool:
        """Asked right before each attempt of a write, but not of one to a lease: while it says no,
        nothing is sent. A process that slept through its lease or session learns it here first.
        """
        ...


class Api(Calls):
    def __init__(
        self,
        client: httpx2.AsyncClient,
        clock: Clock,
        draw: Callable[[], float],
        *,
        qps: float = 50,
        burst: int = 100,
        deadline_seconds: float = 30,
        ca_bundle: bytes = b"",
        counts: Counts | None = None,
        writer: Writer | None = None,
    ) -> None:
        """Without `writer` every write is sent."""
        self._client = client
        self._clock = clock
        self._draw = draw
        self._limiter = RateLimiter(clock, qps, burst)
        self._deadline_seconds = deadline_seconds
        self._counts = counts or Counts()
        #: Requests sent that change something, each attempt on its own.
        self.writes = 0
        self._writer = writer
        self.server = str(client.base_url).rstrip("/")
        #: PEM, as a kubelet needs it to trust `server`; empty where the system's trust is used.
        self.ca_bundle = ca_bundle

    def may_write(self) -> bool:
        return self._writer is None or self._writer.may_write()

    async def close(self) -> None:
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def get(self, kind: Kind[T], name: str, namespace: str = "") -> T:
        return object_of(kind, await self._ask(_get(kind, _path(kind, namespace, name))))

    async def create(self, kind: Kind[T], body: Body, namespace: str = "") -> T:
        whole = {**body, "apiVersion": kind.api_version, "kind": kind.kind}
        return object_of(
            kind,
            await self._ask(
                _Request("POST", _path(kind, namespace), body=_json(whole), is_paced=_paced(kind))
            ),
        )

    async def replace(self, kind: Kind[T], name: str, body: Body, namespace: str = "") -> T:
        whole = {**body, "apiVersion": kind.api_version, "kind": kind.kind}
        path = _path(kind, namespace, name)
        request = _Request("PUT", path, body=_json(whole), is_paced=_paced(kind))
        return object_of(kind, await self._ask(request))

    async def merge_patch(
        self, kind: Kind[T], name: str, patch: Body, namespace: str = "", *, subresource: str = ""
    ) -> T:
        request = _Request(
            "PATCH",
            _path(kind, namespace, name, subresource),
            body=_json(patch),
            content_type="application/merge-patch+json",
            again_after_loss=True,
            is_paced=_paced(kind),
        )
        return object_of(kind, await self._ask(request))

    async def delete(self, kind: Kind[T], name: str, namespace: str = "", *, uid: str = "") -> None:
        options = {"preconditions": {"uid": uid}} if uid else {}
        request = _Request(
            "DELETE",
            _path(kind, namespace, name),
            body=_json({"apiVersion": "v1", "kind": "DeleteOptions", **options}),
            again_after_loss=bool(uid),
            is_paced=_paced(kind),
        )
        await self._ask(request)

    async def evict(self, pod: Pod, grace_seconds: int | None = None) -> None:
        meta = pod.metadata
        options: dict[str, object] = {"preconditions": {"uid": meta.uid}} if meta.uid else {}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": meta.name, "namespace": meta.namespace},
            "deleteOptions": options,
        }
        path = _path(PODS, meta.namespace, meta.name, "eviction")
        await self._ask(_Request("POST", path, body=_json(body), again_after_429=False))

    async def serves(self, kind: Kind[T]) -> bool:
        root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
        try:
            return is_served(kind, await self._ask(_get(kind, root)))
        except NotFound:
            return False

    async def list_page(
        self,
        kind: Kind[T],
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 500,
        continue_token: str = "",
        resource_version: str = "",
    ) -> ObjectPage[T]:
        """Expired: the continue token is too old. `limit` 0 is everything at once."""
        query = _query(
            labelSelector=label_selector,
            fieldSelector=field_selector,
            limit=str(limit) if limit else "",
            resourceVersion=resource_version,
            **{"continue": continue_token},
        )
        path = kind.path(_checked(namespace) if namespace else "")
        return page_of(kind, await self._ask(_get(kind, path, query)))

    async def watch(
        self,
        kind: Kind[T],
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
        timeout_seconds: int = 300,
        opened: Callable[[], None] | None = None,
    ) -> AsyncGenerator[WatchEvent[T], None]:
        """Until the server ends it, after `timeout_seconds` at the latest; close it with aclosing.

        `opened` is called once the server agreed. Never retried: the caller knows from where.
        """
        query = _query(
            watch="1",
            allowWatchBookmarks="true",
            timeoutSeconds=str(timeout_seconds),
            labelSelector=label_selector,
            fieldSelector=field_selector,
            resourceVersion=resource_version,
        )
        await self._limiter.take()
        path = kind.path(_checked(namespace) if namespace else "")
        request = self._client.build_request(
            "GET",
            path,
            params=query,
            headers={"accept-encoding": "identity"},
            timeout=httpx2.Timeout(_CONNECT_SECONDS, read=SILENCE_SECONDS),
        )
        try:
            response = await self._client.send(request, stream=True)
            try:
                self._count("WATCH", response.status_code)
                if response.status_code != 200:
                    raise problem_of(response.status_code, await response.aread(), response.headers)
                if opened is not None:
                    opened()
                async for line in _lines(response):
                    yield watch_event_of(kind, line)
            finally:
                await response.aclose()
        except _NO_ANSWER as problem:
            raise _lost(f"GET {path} (watch)", self.server, problem) from problem

    async def _ask(self, request: _Request) -> bytes:
        """The body of a success; an ApiProblem for all else."""
        deadline = self._clock.now() + round(self._deadline_seconds * SECOND)
        attempt = 0
        while True:
            if request.is_paced:
                await self._limiter.take()
            try:
                return await self._ask_once(request, (deadline - self._clock.now()) / SECOND)
            except ApiProblem as problem:
                seconds = self._wait_before_next(request, problem, attempt)
                if seconds is None or self._clock.now() + round(seconds * SECOND) >= deadline:
                    raise
            await self._clock.sleep(seconds)
            attempt += 1

    def _wait_before_next(
        self, request: _Request, problem: ApiProblem, attempt: int
    ) -> float | None:
        """None: it must not be asked again."""
        jittered = _WAITS.half_drawn(attempt + 1, self._draw())
        if isinstance(problem, TooMany):
            if problem.retry_after_seconds is None or not request.again_after_429:
                return None
            return problem.retry_after_seconds + jittered
        if isinstance(problem, Unreachable) and request.again_after_loss:
            return max(jittered, problem.retry_after_seconds or 0)
        return None

    async def _ask_once(self, request: _Request, seconds: float) -> bytes:
        if request.method != "GET":
            if request.is_paced and not self.may_write():
                text = "was not sent: this replica does not lead, or the object it acts for is gone"
                raise Unreachable(0, NOT_LEADING, f"{request.method} {request.path} {text}")
            self.writes += 1
        seconds = max(seconds, 1.0)
        try:
            response = await self._client.request(
                request.method,
                request.path,
                params=dict(request.query),
                content=request.body or None,
                headers={"content-type": request.content_type} if request.body else {},
                timeout=httpx2.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS)),
            )
        except _NO_ANSWER as problem:
            self._count(request.method, 0)
            raise _lost(f"{request.method} {request.path}", self.server, problem) from problem
        self._count(request.method, response.status_code)
        if not response.is_success:
            raise problem_of(response.status_code, response.content, response.headers)
        return response.content

    def _count(self, verb: str, status: int) -> None:
        self._counts.add("api_requests_total", verb=verb, status=str(status))


async def _lines(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """By newline bytes alone: a text splitter also cuts at characters that JSON allows."""
    rest = b""
    async for chunk in response.aiter_bytes():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            if line:
                yield line


def _path(kind: Kind[T], namespace: str, name: str | None = None, subresource: str = "") -> str:
    """Of one object, or where one is created. An empty name never turns into a collection."""
    within = _checked(namespace) if kind.namespaced else ""
    if name is None:
        return kind.path(within)
    return kind.path(within, _checked(name), subresource)


def _checked(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        text = f"{name!r} is not a name or namespace of an API object; nothing was sent"
        raise Refused(0, "Invalid", text)
    return name


def _get(kind: Kind[T], path: str, query: Mapping[str, str] | None = None) -> _Request:
    return _Request("GET", path, query or {}, again_after_loss=True, is_paced=_paced(kind))


def _paced(kind: Kind[T]) -> bool:
    return kind.plural != LEASES.plural or kind.group != LEASES.group


def _query(**words: str) -> dict[str, str]:
    return {word: text for word, text in words.items() if text}


def _json(body: Body) -> bytes:
    return msgspec.json.encode(body)


def _lost(asked: str, server: str, problem: Exception) -> Unreachable:
    why = str(problem) or type(problem).__name__
    reason = SILENT if isinstance(problem, httpx2.ReadTimeout) else "Unreachable"
    return Unreachable(0, reason, f"no answer to {asked} from {server}: {why}")


class RateLimiter:
    """How fast we ask the API server: a bucket of tokens by a clock."""

    def __init__(self, clock: Clock, qps: float, burst: int) -> None:
        if qps <= 0 or burst < 1:
            text = f"qps {qps} and burst {burst} would let nothing through"
            raise ValueError(f"{text}; set qps above 0 and burst to 1 or more")
        self._clock = clock
        self._bucket = TokenBucket(qps, burst)

    def reserve(self) -> float:
        """Takes a token, now or in the future; the seconds until it is there."""
        return self._bucket.take(self._clock.now())

    async def take(self) -> None:
        if (seconds := self.reserve()) > 0:
            try:
                await self._clock.sleep(seconds)
            except BaseException:
                self._bucket.give_back()
                raise
