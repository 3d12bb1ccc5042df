"""What a browser may ask: checks before any route, and headers on every answer.

A page on the loopback is reachable by every web site its user visits. So the Host must be ours (a
foreign name that resolves to 127.0.0.1 is refused), a request that changes something must come from
our own page (its Origin, and a header that no form can send), and nothing but our own files runs.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from hmac import compare_digest
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bigfleet.edge.logs import Log
from bigfleet.model.provider_calls import Peer, Rejected
from bigfleet.web.answers import error
from bigfleet.wire.audits import require_admin, require_reader

#: Of a request; a fleet edit of a what-if is the largest.
LARGEST_BODY = 1024 * 1024
OWN_HEADER = "x-bigfleet"
COOKIE = "bigfleet-token"
#: In the state of a request: who sent it, by certificate.
PEER = "peer"
_EVERYWHERE = frozenset({"0.0.0.0", "[::]", "::"})
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_HEADERS = {
    "content-security-policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "object-src 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_READS = ("GET", "HEAD")
#: Posts that change nothing, below /api/v1: they have a body, so they are not GETs.
_ASKED_BY_POST = ("/whatif",)


@dataclass(frozen=True, slots=True)
class WebPolicy:
    writes: bool = False
    #: Names beside the loopback's under which the page is reached, without ports.
    hosts: frozenset[str] = frozenset()
    #: What `Authorization: Bearer` must bring; empty: no token is asked for.
    token: str = field(default="", repr=False)
    #: Whether callers show certificates: one of a reader, for writes one of an administrator.
    identified: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    status: HTTPStatus
    text: str
    remedy: str = ""


def host_name(host: str) -> str:
    """Of a Host header, without its port, as names are compared."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower().rstrip(".")


def why_not_host(host: str, policy: WebPolicy) -> Refusal | None:
    name = host_name(host)
    if name in _LOOPBACK or name in policy.hosts:
        return None
    text = f"this page is not served under the name {name[:253]!r}"
    remedy = "open it by the address it was started with, or name this one in --web-host"
    return Refusal(HTTPStatus.MISDIRECTED_REQUEST, text, remedy)


def why_not_from_there(method: str, headers: Headers) -> Refusal | None:
    """Whether our own page sent it; a read may come from anywhere, as its answer is not shown."""
    if method in _READS:
        return None
    origin, host = headers.get("origin", ""), headers.get("host", "")
    ours = not origin or origin in (f"http://{host}", f"https://{host}")
    if not ours or headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        text = f"a page of {origin[:253] or 'another origin'} may not change this fleet"
        return Refusal(HTTPStatus.FORBIDDEN, text, "use the fleet's own page")
    if headers.get(OWN_HEADER) != "1":
        text = "a request that changes something must carry the header X-BigFleet: 1"
        return Refusal(HTTPStatus.FORBIDDEN, text, "add the header")
    return None


def why_not_write(method: str, path: str, policy: WebPolicy) -> Refusal | None:
    if method in _READS or policy.writes or path.endswith(_ASKED_BY_POST):
        return None
    text = "this page only reads"
    return Refusal(HTTPStatus.FORBIDDEN, text, "start the process with --web-writes")


def why_not_known(
    peer: Peer, headers: Headers, policy: WebPolicy, *, writes: bool
) -> Refusal | None:
    """A certificate of the right kind will do, and so will the token; where neither is asked for,
    only this machine reaches the page."""
    if not (policy.token or policy.identified) or _brings_token(headers, policy):
        return None
    if policy.identified and peer.authenticated:
        try:
            (require_admin if writes else require_reader)(peer)
        except Rejected as problem:
            return Refusal(HTTPStatus.FORBIDDEN, problem.text, "use another certificate")
        return None
    text, remedy = "this page asks for a certificate", "use one of a reader or an administrator"
    if policy.token:
        text, remedy = "this page asks for a token", "open /?token=TOKEN, or send it as Bearer"
    return Refusal(HTTPStatus.UNAUTHORIZED, text, remedy)


def _brings_token(headers: Headers, policy: WebPolicy) -> bool:
    scheme, _, given = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        cookies = cookie_parser(headers.get("cookie", ""))
        given = cookies.get(COOKIE, "")
    return is_token(given, policy)


def is_token(given: str, policy: WebPolicy) -> bool:
    return bool(policy.token) and compare_digest(given.encode(), policy.token.encode())


def token_cookie(policy: WebPolicy, secure: bool) -> str:
    """For a browser, which sends no Bearer when its user opens a page."""
    flags = "; Secure" if secure else ""
    return f"{COOKIE}={policy.token}; Path=/; HttpOnly; SameSite=Strict{flags}"


class Safety:
    """Wraps the application: what it refuses is answered here."""

    def __init__(self, app: ASGIApp, policy: WebPolicy, log: Log) -> None:
        self._app = app
        self._policy = policy
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http", "the server speaks nothing else"

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        if self._policy.token and (answer := self._opened(scope)) is not None:
            await answer(scope, receive, guarded)
            return
        refusal = self._why_not(scope)
        if refusal is not None:
            answer = error(refusal.status, refusal.text, remedy=refusal.remedy)
            if refusal.status is HTTPStatus.UNAUTHORIZED:
                answer.headers["www-authenticate"] = "Bearer"
            await answer(scope, receive, guarded)
            return
        try:
            await self._app(scope, _Bounded(receive), guarded)
        except Exception as problem:  # noqa: BLE001 - a fault of one route ends one request
            self._log.error("web.fault", msg=f"{scope['path'][:200]}: {problem!r}")

    def _why_not(self, scope: Scope) -> Refusal | None:
        method, path, headers = scope["method"], scope["path"], Headers(scope=scope)
        peer: Peer = scope.get("state", {}).get(PEER, Peer())
        writes = method not in _READS and not path.endswith(_ASKED_BY_POST)
        return (
            why_not_host(headers.get("host", ""), self._policy)
            or _why_not_size(headers)
            or why_not_known(peer, headers, self._policy, writes=writes)
            or why_not_from_there(method, headers)
            or why_not_write(method, path, self._policy)
        )

    def _opened(self, scope: Scope) -> Response | None:
        """The address with the token, as a person opens it first: it becomes a cookie."""
        given = QueryParams(scope["query_string"]).get("token", "")
        if scope["method"] != "GET" or not is_token(given, self._policy):
            return None
        if why_not_host(Headers(scope=scope).get("host", ""), self._policy) is not None:
            return None
        cookie = token_cookie(self._policy, scope["scheme"] == "https")
        headers = {"location": "/", "set-cookie": cookie, "cache-control": "no-store"}
        return Response(None, HTTPStatus.SEE_OTHER, headers)


def _why_not_size(headers: Headers) -> Refusal | None:
    length = headers.get("content-length", "0")
    if length.isdigit() and int(length) <= LARGEST_BODY:
        return None
    text = f"a request has at most {LARGEST_BODY} bytes"
    return Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text, "ask for less at once")


class BodyTooLarge(Exception):
    """A body without a length that does not end; the connection is given up."""


class _Bounded:
    """What a client sends, up to the largest body."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._size = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size > LARGEST_BODY:
            raise BodyTooLarge(f"a request has at most {LARGEST_BODY} bytes")
        return message


def hosts_of(addresses: Iterable[str]) -> frozenset[str]:
    """Names in HOST or HOST:PORT, as `WebPolicy.hosts` wants them; every address is no name."""
    return frozenset(host_name(each) for each in addresses if each) - _EVERYWHERE
