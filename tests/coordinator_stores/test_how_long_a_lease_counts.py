"""A holder counts on its lease from when it sent, never from when it heard."""

from bigfleet.coordinator.stores.etcd_leadership import LeaseTimes
from bigfleet.edge.clock import SECOND

TENURE = LeaseTimes(sent_at=1_000 * SECOND, ttl_seconds=5)


def test_a_lease_counts_until_its_ttl_after_the_sending_and_not_at_it() -> None:
    assert TENURE.runs(1_004 * SECOND)
    assert TENURE.runs(1_005 * SECOND - 1)
    assert not TENURE.runs(1_005 * SECOND)


def test_it_is_renewed_after_three_tenths() -> None:
    assert TENURE.seconds_to_renewal(1_000 * SECOND) == 1.5
    assert TENURE.seconds_to_renewal(1_001 * SECOND) == 0.5
    assert TENURE.seconds_to_renewal(1_003 * SECOND) == 0


def test_three_endpoints_can_be_asked_between_renewal_and_end() -> None:
    due_seconds = TENURE.seconds_to_renewal(TENURE.sent_at)
    assert due_seconds + 3 * TENURE.try_seconds < TENURE.ttl_seconds


def test_what_is_left_never_goes_below_nothing() -> None:
    assert TENURE.seconds_left(1_001 * SECOND) == 4
    assert TENURE.seconds_left(1_009 * SECOND) == 0
