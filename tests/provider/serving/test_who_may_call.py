"""Under mTLS a shard speaks for itself, an administrator for anyone, a reader only reads."""

import pytest

from bigfleet.model.provider_calls import Code, Peer, Token
from bigfleet.provider.ledger.decisions import why_not_read, why_not_this_caller

SHARD = Peer("bigfleet://shard/a", authenticated=True)
ADMIN = Peer("bigfleet://admin", authenticated=True)
READER = Peer("bigfleet://readonly", authenticated=True)
CLUSTER = Peer("bigfleet://cluster/a", authenticated=True)
NAMELESS = Peer(None, authenticated=True)


@pytest.mark.parametrize(
    ("peer", "shard_id", "allowed"),
    [
        (Peer(), "a", True),
        (SHARD, "a", True),
        (SHARD, "", True),
        (SHARD, "b", False),
        (ADMIN, "b", True),
        (READER, "a", False),
        (CLUSTER, "a", False),
        (NAMELESS, "a", False),
        (NAMELESS, "", False),
    ],
)
def test_a_mutation_needs_the_name_of_its_shard(peer: Peer, shard_id: str, allowed: bool) -> None:
    refusal = why_not_this_caller(peer, Token(shard_id, 1, 1))
    assert (refusal is None) is allowed
    if refusal is not None:
        assert (refusal.code, refusal.reason) == (Code.PERMISSION_DENIED, "identity")


@pytest.mark.parametrize(
    ("peer", "allowed"),
    [
        (Peer(), True),
        (SHARD, True),
        (ADMIN, True),
        (READER, True),
        (CLUSTER, False),
        (NAMELESS, False),
    ],
)
def test_reads_need_a_name_that_may_read(peer: Peer, allowed: bool) -> None:
    assert (why_not_read(peer) is None) is allowed
