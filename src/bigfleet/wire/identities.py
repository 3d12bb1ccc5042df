"""Who may call the admin services of a provider.

Without mTLS callers have no name and nothing is checked. With it a caller needs exactly one
`bigfleet:` name, and the right one.
"""

from bigfleet.model.identities import ADMIN, READONLY, is_admin
from bigfleet.model.provider_calls import Code, Peer, Rejected


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
