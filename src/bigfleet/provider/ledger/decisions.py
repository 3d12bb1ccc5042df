"""What becomes of a mutation: the eight checks in their one order.

Static arguments, capability, fence, existence, idempotency, position, admission, acceptance. The
order is observable: a stale token is told so even about a machine that does not exist, and a token
that passes the fence moves its mark although a later check refuses. FAILED_PRECONDITION means a
stale token and nothing else.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import (
    Code,
    ConfigureCall,
    DrainCall,
    Mutation,
    Peer,
    Rejected,
    Token,
)
from bigfleet.model.syntax import READONLY, is_admin
from bigfleet.provider.ledger.entries import Entry, accepted
from bigfleet.provider.ledger.fences import Mark, is_stale, mark_of
from bigfleet.provider.ledger.transitions import Kind

_SHARD = "bigfleet://shard/"


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a request may weigh at most."""

    metadata_bytes: int = 4 * 1024 * 1024
    metadata_keys: int = 4096
    blob_bytes: int = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a mutation is not accepted."""

    code: Code
    text: str
    reason: str = ""

    def raised(self) -> Rejected:
        return Rejected(self.code, self.text, self.reason)


@dataclass(frozen=True, slots=True)
class Refused:
    refusal: Refusal
    #: Where the token passed the fence: it must be durable before the answer goes out.
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Repeated:
    """The same kind is already at or on its way to its target; nothing starts."""

    operation_id: str
    mark: Mark | None
    #: Whether the repeat carried other metadata than the one kept.
    payload_differs: bool


@dataclass(frozen=True, slots=True)
class Accepted:
    operation_id: str
    entry: Entry
    mark: Mark | None


Verdict = Refused | Repeated | Accepted


def why_not_this_caller(peer: Peer, token: Token) -> Refusal | None:
    """A shard speaks for itself only; an administrator for any shard."""
    if not peer.authenticated or is_admin(peer.identity):
        return None
    who = peer.identity or "a caller without exactly one bigfleet name"
    if not who.startswith(_SHARD):
        return Refusal(Code.PERMISSION_DENIED, f"{who} may not change machines", "identity")
    if token.shard_id and who != _SHARD + token.shard_id:
        text = f"{who} may not speak for shard {token.shard_id}"
        return Refusal(Code.PERMISSION_DENIED, text, "identity")
    return None


def why_not_read(peer: Peer) -> Refusal | None:
    who = peer.identity or ""
    if not peer.authenticated or is_admin(who) or who == READONLY or who.startswith(_SHARD):
        return None
    text = f"{who or 'a caller without exactly one bigfleet name'} may not read machines"
    return Refusal(Code.PERMISSION_DENIED, text, "identity")


def why_malformed(call: Mutation, sizes: Sizes) -> Refusal | None:
    """What the request alone shows to be wrong; no mark moves."""
    if not call.machine_id:
        return _invalid("machine_id is empty")
    if isinstance(call, DrainCall) and call.grace_period_seconds < 0:
        return _invalid(f"grace_period_seconds is {call.grace_period_seconds}; it is 0 or more")
    if isinstance(call, ConfigureCall):
        return _why_malformed_configure(call, sizes)
    return None


def _why_malformed_configure(call: ConfigureCall, sizes: Sizes) -> Refusal | None:
    if not call.cluster_id:
        return _invalid("cluster_id is empty")
    if len(call.bootstrap_blob) > sizes.blob_bytes:
        return _invalid(f"bootstrap_blob is larger than {sizes.blob_bytes} bytes")
    if len(call.shard_metadata) > sizes.metadata_keys:
        return _invalid(f"shard_metadata has more than {sizes.metadata_keys} keys")
    if _weight(call.shard_metadata) > sizes.metadata_bytes:
        return _invalid(f"shard_metadata is larger than {sizes.metadata_bytes} bytes")
    return None


def _weight(metadata: Mapping[str, str]) -> int:
    return sum(len(key.encode()) + len(value.encode()) for key, value in metadata.items())


def _invalid(text: str) -> Refusal:
    return Refusal(Code.INVALID_ARGUMENT, text)


def decided(
    kind: Kind,
    call: Mutation,
    *,
    entry: Entry | None,
    mark: Mark | None,
    why_not_admitted: Callable[[Entry], Refusal | None],
    operation_id: Callable[[], str],
) -> Verdict:
    """Checks three to eight, to be asked under the machine's lock."""
    token = call.token
    if is_stale(token, mark):
        assert mark is not None
        text = (
            f"token ({token.epoch}, {token.sequence}) of shard {token.shard_id} is not above "
            f"({mark.epoch}, {mark.sequence}) on machine {call.machine_id}"
        )
        return Refused(Refusal(Code.FAILED_PRECONDITION, text))
    passed = None if token.absent else mark_of(token)
    if entry is None:
        text = f"no machine {call.machine_id}"
        return Refused(Refusal(Code.NOT_FOUND, text), passed)
    if refusal := _why_other_binding(kind, call, entry):
        return Refused(refusal, passed)
    if recorded := _recorded(kind, entry):
        differs = isinstance(call, ConfigureCall) and dict(call.shard_metadata) != dict(
            entry.record.shard_metadata
        )
        return Repeated(recorded, passed, differs)
    if refusal := _why_out_of_position(kind, entry) or why_not_admitted(entry):
        return Refused(refusal, passed)
    name = operation_id()
    return Accepted(name, accepted(entry, kind, call, name), passed)


def _recorded(kind: Kind, entry: Entry) -> str:
    if entry.state not in (kind.passing, kind.target):
        return ""
    return entry.standing.operations.get(kind, "")


def _why_other_binding(kind: Kind, call: Mutation, entry: Entry) -> Refusal | None:
    if not isinstance(call, ConfigureCall) or entry.state not in (kind.passing, kind.target):
        return None
    if call.cluster_id == entry.record.cluster:
        return None
    text = f"machine {entry.id} is bound to cluster {entry.record.cluster}; drain it first"
    return Refusal(Code.ABORTED, text, "binding-conflict")


def _why_out_of_position(kind: Kind, entry: Entry) -> Refusal | None:
    if entry.state is kind.source:
        return None
    if entry.state is MachineState.FAILED:
        text = f"machine {entry.id} has failed ({entry.record.last_error}); only we can mend it"
        return Refusal(Code.ABORTED, text, "failed")
    text = f"{kind} needs {kind.source.name}; machine {entry.id} is {entry.state.name}"
    return Refusal(Code.ABORTED, text, "out-of-position")
