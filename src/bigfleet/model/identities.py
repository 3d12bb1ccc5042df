"""Names in certificates: which of them are an administrator's, and how people are told apart.

`bigfleet://admin/<name>` is the administrator of that name, `bigfleet://admin` one without a name;
both may do the same. The owner that a caller writes into a request is free text: it is shown beside
the name that the certificate proves, never instead of it.
"""

import re

ADMIN = "bigfleet://admin"
READONLY = "bigfleet://readonly"
#: What may follow `bigfleet://admin/`; it is compared letter by letter.
_ADMIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,252}")


def why_not_admin_name(name: str) -> str | None:
    if _ADMIN_NAME.fullmatch(name):
        return None
    return "write letters, digits, '.', '_', '-' and '@', beginning with a letter or digit"


def admin_identity(name: str = "") -> str:
    return f"{ADMIN}/{name}" if name else ADMIN


def is_admin(identity: str | None) -> bool:
    if identity is None or not identity.startswith(ADMIN):
        return False
    rest = identity.removeprefix(ADMIN)
    return not rest or (rest[0] == "/" and why_not_admin_name(rest[1:]) is None)


def who_text(owner: str, identity: str | None) -> str:
    """`ada (bigfleet://admin/ada)`; without a certificate only what the caller says of itself."""
    if identity and owner:
        return f"{owner} ({identity})"
    return owner or identity or "an unnamed caller"
