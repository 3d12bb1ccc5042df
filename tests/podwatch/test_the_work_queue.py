"""The queue of what has to be looked at: each once, again after failures, never without bound."""

from hypothesis import given
from hypothesis import strategies as st

from bigfleet.edge.clock import SECOND
from bigfleet.podwatch.work_queue import PASSING, WorkQueue

AT = 1_000 * SECOND


def queue(largest: int = 100) -> WorkQueue[str]:
    return WorkQueue(lambda: 1.0, largest)


def taken(work: WorkQueue[str], at: int = AT) -> list[str]:
    found = []
    while (key := work.take(at)) is not None:
        found.append(key)
    return found


def test_an_object_that_changed_often_is_looked_at_once_in_its_first_place() -> None:
    work = queue()
    for key in ("a", "b", "a", "a"):
        work.offer(key)
    assert len(work) == 2
    assert taken(work) == ["a", "b"]


def test_an_object_that_changes_while_it_is_looked_at_is_looked_at_once_more() -> None:
    work = queue()
    work.offer("a")
    assert work.take(AT) == "a"
    work.offer("a")
    work.offer("a")
    assert work.take(AT) is None
    work.done("a")
    assert taken(work) == ["a"]


def test_a_failure_comes_again_after_waits_that_double_up_to_a_minute() -> None:
    work = queue()
    work.offer("a")
    at, waits = AT, []
    for _ in range(10):
        assert work.take(at) == "a"
        waits.append(work.failed("a", at))
        due = work.next_due()
        assert due is not None
        assert work.take(due - 1) is None
        at = due
    assert waits[:4] == [0.5, 1.0, 2.0, 4.0]
    assert waits[-1] == PASSING.longest_seconds


def test_a_success_forgets_the_failures_before_it() -> None:
    work = queue()
    work.offer("a")
    work.take(AT)
    work.failed("a", AT)
    later = AT + 60 * SECOND
    assert work.take(later) == "a"
    work.done("a")
    work.offer("a")
    work.take(later)
    assert work.failed("a", later) == 0.5


def test_a_change_is_not_held_up_by_a_wait_after_a_failure() -> None:
    work = queue()
    work.offer("a")
    work.take(AT)
    work.failed("a", AT)
    work.offer("a")
    assert taken(work) == ["a"]
    assert work.next_due() is None


def test_the_earlier_of_two_times_wins() -> None:
    work = queue()
    work.offer_at("a", AT + 10 * SECOND)
    work.offer_at("a", AT + 5 * SECOND)
    work.offer_at("a", AT + 20 * SECOND)
    assert work.next_due() == AT + 5 * SECOND
    assert taken(work, AT + 30 * SECOND) == ["a"]
    work.done("a")
    assert taken(work, AT + 30 * SECOND) == []


def test_what_does_not_fit_is_missed_and_everything_must_be_offered_again() -> None:
    work = queue(2)
    for key in ("a", "b", "c"):
        work.offer(key)
    work.offer_at("d", AT)
    assert (work.missed, len(work)) == (True, 2)
    work.offer("a")
    assert taken(work) == ["a", "b"]


def test_a_cleared_queue_is_empty_but_for_what_is_looked_at() -> None:
    work = queue()
    work.offer("a")
    work.take(AT)
    work.offer("b")
    work.offer_at("c", AT)
    work.clear()
    assert taken(work, AT + SECOND) == []
    work.done("a")
    assert len(work) == 0


steps = st.lists(
    st.tuples(st.sampled_from(["offer", "later", "take", "done", "fail"]), st.sampled_from("abc")),
    max_size=40,
)


@given(steps)
def test_nothing_that_was_offered_is_lost(story: list[tuple[str, str]]) -> None:
    work, held, owed, at = queue(), set[str](), set[str](), AT
    for step, key in story:
        if step == "offer":
            work.offer(key)
            owed.add(key)
        elif step == "later":
            work.offer_at(key, at + SECOND)
            owed.add(key)
        elif step == "take" and (found := work.take(at)) is not None:
            assert found not in held
            held.add(found)
            owed.discard(found)
        elif step == "done" and key in held:
            held.discard(key)
            work.done(key)
        elif step == "fail" and key in held:
            held.discard(key)
            work.failed(key, at)
            owed.add(key)
    for key in sorted(held):
        work.done(key)
    assert owed <= set(taken(work, at + 3600 * SECOND))
