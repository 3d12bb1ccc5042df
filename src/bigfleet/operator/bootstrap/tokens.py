"""Bootstrap tokens: what lets a new kubelet ask for its certificate, for a quarter of an hour.

One token serves every machine that asks while more than half of its life is left, so what a machine
is given is always good for at least that half. A token is a Secret of a shape that Kubernetes
defines; its secret part is never printed, logged or kept anywhere else.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass, field

from bigfleet.edge.clock import SECOND
from bigfleet.kube.calls import Body
from bigfleet.kube.names import MADE_BY
from bigfleet.kube.objects import Secret
from bigfleet.model.instants import instant_of, instant_text
from bigfleet.model.machines import Instant

NAMESPACE = "kube-system"
SECRET_TYPE = "bootstrap.kubernetes.io/token"
GROUP = "system:bootstrappers:bigfleet"
#: Value of the label of Secrets that we made, and hence may delete.
MAKER = "operator-tokens"

_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
_ID_LETTERS, _SECRET_LETTERS = 6, 16
#: The largest multiple of 36 in a byte: above it letters would not be equally likely.
_FAIR = 252


@dataclass(frozen=True, slots=True)
class BootstrapToken:
    id: str
    secret: str = field(repr=False)
    made_at: Instant
    expires_at: Instant

    @property
    def text(self) -> str:
        """What a kubelet presents."""
        return f"{self.id}.{self.secret}"

    @property
    def object_name(self) -> str:
        return object_name(self.id)

    def seconds_left(self, at: Instant) -> int:
        return max(0, (self.expires_at - at) // SECOND)

    def is_fresh(self, at: Instant) -> bool:
        """Whether more than half of its life is left."""
        return (self.expires_at - at) * 2 > self.expires_at - self.made_at


def object_name(token_id: str) -> str:
    return f"bootstrap-token-{token_id}"


def new_token(
    random_bytes: Callable[[int], bytes], at: Instant, ttl_seconds: float, prefix: str = ""
) -> BootstrapToken:
    """`random_bytes` must be fit for secrets. Life is in whole seconds, as the API has it.

    `prefix`: how its id begins, so that a policy can tell our tokens by their names.
    """
    at -= at % SECOND
    letters = prefix + _letters(random_bytes, _ID_LETTERS + _SECRET_LETTERS - len(prefix))
    expires = at + int(ttl_seconds) * SECOND
    return BootstrapToken(letters[:_ID_LETTERS], letters[_ID_LETTERS:], at, expires)


def secret_body(token: BootstrapToken, cluster_id: str) -> Body:
    """The Secret that makes a cluster accept the token."""
    content = {
        "token-id": token.id,
        "token-secret": token.secret,
        "expiration": instant_text(token.expires_at),
        "usage-bootstrap-authentication": "true",
        "usage-bootstrap-signing": "true",
        "auth-extra-groups": GROUP,
        "description": f"BigFleet: lets machines of the fleet join cluster {cluster_id}",
    }
    return {
        "metadata": {
            "name": token.object_name,
            "namespace": NAMESPACE,
            "labels": {MADE_BY: MAKER},
        },
        "type": SECRET_TYPE,
        "data": {key: b64encode(text.encode()).decode() for key, text in content.items()},
    }


def is_expired(secret: Secret, at: Instant) -> bool:
    """Whether it is a token of ours whose life is over; an unreadable one is left alone."""
    if secret.type != SECRET_TYPE or secret.metadata.labels.get(MADE_BY) != MAKER:
        return False
    try:
        text = b64decode(secret.data.get("expiration", ""), validate=True).decode()
    except ValueError:
        return False
    expires = instant_of(text)
    return expires is not None and expires <= at


def _letters(random_bytes: Callable[[int], bytes], number: int) -> str:
    letters = ""
    while len(letters) < number:
        fair = (byte for byte in random_bytes(2 * number) if byte < _FAIR)
        letters += "".join(_LETTERS[byte % len(_LETTERS)] for byte in fair)
    return letters[:number]
