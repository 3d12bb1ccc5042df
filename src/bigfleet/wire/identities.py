"""Who may call the admin services of a provider.

Without mTLS nobody has a name and nothing is checked. With it a caller needs exactly one
`bigfleet:` name, and the right one.
"""

from bigfleet.model.provider_calls import Code, Peer, Rejected

ADMIN = "bigfleet://admin"
READONLY = "bigfleet://readonly"


def require_admin(peer: Peer) -> None:
    _require(peer, ADMIN)


def require_reader(peer: Peer) -> None:
    _require(peer, READONLY, ADMIN)


def _require(peer: Peer, *names: str) -> None:
    if peer.authenticated and peer.identity not in names:
        caller = peer.identity or "a caller without one bigfleet name"
        text = f"{caller} may not do this; it takes {' or '.join(names)}"
        raise Rejected(Code.PERMISSION_DENIED, text, "identity")
