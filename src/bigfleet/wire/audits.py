"""Who changes something and why: in the request where it has a place for it, else in its metadata.

Texts that are kept and shown are bounded here. Metadata is ASCII on the line, so other characters
are percent-encoded there, as gRPC does with its own texts.

Who may call the admin services of a provider.

Without mTLS callers have no name and nothing is checked. With it a caller needs exactly one
`bigfleet:` name, and the right one.
"""

from collections.abc import Iterable
from urllib.parse import quote, unquote

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.model.shard_admin import Audit
from bigfleet.model.syntax import ADMIN, READONLY, is_admin
from bigfleet.wire.lines import Metadata


def require_admin(peer: Peer) -> None:
    _require(peer, ADMIN)


def require_reader(peer: Peer) -> None:
    _require(peer, READONLY, ADMIN)


def _require(peer: Peer, *names: str) -> None:
    """Every administrator, with a name or without, may do what one of these may."""
    if peer.authenticated and peer.identity not in names and not is_admin(peer.identity):
        caller = peer.identity or "a caller without one bigfleet name"
        text = f"{caller} may not do this; it takes {' or '.join(names)}"
        raise Rejected(Code.PERMISSION_DENIED, text, "identity")


#: Keys of request metadata.
OWNER_KEY, REASON_KEY = "bigfleet-owner", "bigfleet-reason"
#: Characters of a name or a chosen id, and of a reason.
LONGEST_NAME, LONGEST_REASON = 256, 4096
#: Printable ASCII but `%`, which begins what is encoded.
_PLAIN = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) != "%")


def audit_of(audit: shared.Audit) -> Audit:
    """Raises Rejected where who or why is missing."""
    if not (audit.owner.strip() and audit.reason.strip()):
        raise Rejected(Code.INVALID_ARGUMENT, "who changes this, and why? both are needed")
    return Audit(name_of("owner", audit.owner), bounded("reason", audit.reason, LONGEST_REASON))


def audit_message(audit: Audit) -> shared.Audit:
    return shared.Audit(owner=audit.owner, reason=audit.reason)


def metadata_of(audit: Audit) -> Metadata:
    """Raises Rejected where it does not fit into the headers of a request."""
    owner, reason = (quote(text, safe=_PLAIN) for text in (audit.owner, audit.reason))
    bounded("owner", owner, LONGEST_NAME)
    bounded("reason", reason, LONGEST_REASON)
    return ((OWNER_KEY, owner), (REASON_KEY, reason))


def audit_in(metadata: Iterable[tuple[str, str | bytes]]) -> Audit:
    """Empty where a caller says nothing: the clients of v1alpha1 that exist do not."""
    told = {key: value for key, value in metadata if isinstance(value, str)}
    owner, reason = unquote(told.get(OWNER_KEY, "")), unquote(told.get(REASON_KEY, ""))
    return Audit(name_of("owner", owner), bounded("reason", reason, LONGEST_REASON))


def name_of(field: str, name: str) -> str:
    return bounded(field, name, LONGEST_NAME)


def needed(field: str, name: str, longest: int = LONGEST_NAME) -> str:
    """Raises Rejected where it is missing or too long."""
    if not name:
        raise Rejected(Code.INVALID_ARGUMENT, f"{field} is missing; name one")
    return bounded(field, name, longest)


def bounded(field: str, text: str, longest: int) -> str:
    if len(text) > longest:
        what = f"{field} has {len(text)} characters; {longest} are enough"
        raise Rejected(Code.INVALID_ARGUMENT, what)
    return text
