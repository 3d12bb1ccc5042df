"""Actions are spared a line that is down; Lists go on slowly, and close the breaker again."""

from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code
from tests.reconciling.rig import Rig, record


def down() -> Rig:
    rig = Rig("acme", "other")
    for _ in range(5):
        rig.fails()
    return rig


def is_open(rig: Rig, provider: str = "acme") -> bool:
    return rig.reconciler.breaker_open(provider)


def test_five_failures_in_a_row_open_it_for_that_provider() -> None:
    rig = Rig("acme", "other")
    for _ in range(4):
        rig.fails()
    assert not is_open(rig)
    rig.fails()
    assert is_open(rig)
    assert not is_open(rig, "other")
    assert rig.count("provider_breaker_open", provider="acme") == 1
    assert rig.reconciler.status("acme").breaker_open
    assert "breaker_opened" in rig.logged()


def test_a_success_in_between_starts_the_count_anew() -> None:
    rig = Rig()
    for _ in range(4):
        rig.fails()
    rig.lists()
    for _ in range(4):
        rig.fails()
    assert not is_open(rig)


def test_failures_far_apart_do_not_open_it() -> None:
    rig = Rig()
    for _ in range(9):
        rig.fails()
        rig.wait(8)
    assert not is_open(rig)


def test_any_five_in_a_row_within_the_time_open_it() -> None:
    rig = Rig()
    for _ in range(3):
        rig.fails()
        rig.wait(60)
    for _ in range(4):
        rig.fails()
    assert not is_open(rig)
    rig.fails()
    assert is_open(rig)


def test_calls_that_get_lost_count_and_refusals_do_not() -> None:
    rig = Rig()
    for _ in range(9):
        rig.reconciler.on_call_result("acme", Code.INTERNAL, rig.now)
    assert not is_open(rig)
    for code in (Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.CANCELLED, Code.UNAVAILABLE):
        rig.reconciler.on_call_result("acme", code, rig.now)
    rig.fails()
    assert is_open(rig)


def test_while_it_is_open_lists_are_rare() -> None:
    rig = down()
    assert rig.reconciler.next_list("acme", rig.now).due == rig.now + 10 * SECOND
    assert rig.reconciler.next_list("other", rig.now).due == rig.now


def test_two_successes_in_a_row_close_it() -> None:
    rig = down()
    rig.lists(record("m"))
    assert is_open(rig)
    rig.fails()
    rig.lists(record("m"))
    assert is_open(rig)
    rig.effects.taken()
    rig.lists(record("m"))
    assert not is_open(rig)
    assert rig.count("provider_breaker_open", provider="acme") == 0
    assert "breaker_closed" in rig.logged()


def test_once_closed_it_takes_five_failures_again() -> None:
    rig = down()
    rig.lists(record("m"))
    rig.lists(record("m"))
    for _ in range(4):
        rig.fails()
    assert not is_open(rig)


def test_an_unreadable_list_is_a_failure() -> None:
    rig = Rig()
    for _ in range(5):
        rig.fails(Code.INTERNAL)
    assert is_open(rig)
