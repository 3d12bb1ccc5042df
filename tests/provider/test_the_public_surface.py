"""What `bigfleet.provider` promises is there."""

import bigfleet.provider as sdk
from bigfleet.provider import Backend, Condition, HostStatus


def test_every_promised_name_is_there() -> None:
    assert [name for name in sdk.__all__ if not hasattr(sdk, name)] == []
    assert sorted(set(sdk.__all__)) == sorted(sdk.__all__)


def test_what_an_author_may_raise_and_return_is_public() -> None:
    wanted = """Backend Inventory Instance Created Host Rate Retryable CapacityUnavailable
        QuotaExceeded HostGone Permanent Offerings SlotIndex PriceBook Config Secret MemoryStore
        SQLiteStore ProviderServer Interruption Gone PriceChanged DescribeNow"""
    assert set(wanted.split()) <= set(sdk.__all__)


def test_a_status_says_what_became_of_the_host() -> None:
    assert sdk.GONE.condition is Condition.GONE
    assert HostStatus.running(sdk.Host("h")).host == sdk.Host("h")
    assert not Backend.configure_implies_ready
