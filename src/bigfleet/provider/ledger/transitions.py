"""The four mutations: where each starts and lands; and why a machine is FAILED, in its one form."""

from base64 import b64encode
from enum import StrEnum

from bigfleet.model.machines import MachineState as S


class Kind(StrEnum):
    CREATE = "create"
    CONFIGURE = "configure"
    DRAIN = "drain"
    DELETE = "delete"

    @property
    def source(self) -> S:
        return _EDGES[self][0]

    @property
    def passing(self) -> S:
        """The transitional state while the work runs."""
        return _EDGES[self][1]

    @property
    def target(self) -> S:
        return _EDGES[self][2]


_EDGES: dict[Kind, tuple[S, S, S]] = {
    Kind.CREATE: (S.SPECULATIVE, S.CREATING, S.IDLE),
    Kind.CONFIGURE: (S.IDLE, S.CONFIGURING, S.CONFIGURED),
    Kind.DRAIN: (S.CONFIGURED, S.DRAINING, S.IDLE),
    Kind.DELETE: (S.IDLE, S.DELETING, S.SPECULATIVE),
}
_BY_PASSING = {kind.passing: kind for kind in Kind}


def kind_passing(state: S) -> Kind | None:
    """The mutation under way in `state`, None where a machine rests."""
    return _BY_PASSING.get(state)


#: Substrate errors quote whole documents; more than this of them helps no reader.
TEXT_LIMIT = 1024
#: Where to look for a blob in an author's text, and which of its lines are its own: shorter ones
#: (`#!/bin/sh`) are in every script.
_LOOKED_AT, _LINES, _OWN_LINE, _SHORTEST = 16_384, 10_000, 16, 6
_HIDDEN = "<blob>"


class Reason(StrEnum):
    #: The Backend raised an error that will not pass by itself.
    ERROR = "error"
    #: The operation took longer than its timeout.
    TIMEOUT = "timeout"
    #: The provider stopped during the operation, and its time was up at the next start.
    INTERRUPTED = "interrupted"
    #: The host was configured and did not become ready.
    READINESS = "readiness"
    #: The substrate has no such machine left.
    STOCKOUT = "stockout"
    #: The substrate refuses more machines to this account.
    QUOTA = "quota"
    #: The host is gone from the substrate.
    VANISHED = "vanished"
    #: The substrate took a spot machine back.
    SPOT = "spot"


def last_error_of(reason: Reason, text: str) -> str:
    """`<reason>: <text>`, the text cut at 1 KiB without splitting a character."""
    cut = text.encode("utf-8", "replace")[:TEXT_LIMIT].decode("utf-8", "ignore")
    return f"{reason}: {cut}"


def without_blob(text: str, blob: bytes) -> str:
    """The text, cut, with a bootstrap blob in it hidden: whole, by its lines, or as base64.

    Errors of a substrate quote the script that failed, and every caller that may List sees them.
    """
    text = text[:_LOOKED_AT]
    if not blob:
        return text
    written = blob.decode("utf-8", "ignore")
    lines = [line.strip() for line in written.splitlines()[:_LINES]]
    own = [line for line in lines if len(line) >= _OWN_LINE]
    for secret in (written.strip(), b64encode(blob).decode(), *own):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, _HIDDEN)
    return text


def reason_of(last_error: str) -> Reason:
    """The reason a stored `last_error` begins with; ERROR for texts that are not ours."""
    word = last_error.partition(":")[0]
    return Reason(word) if word in set(Reason) else Reason.ERROR
