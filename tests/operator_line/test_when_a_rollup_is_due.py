"""A roll-up at once, every interval, soon after a change, and never from what is not whole."""

from hypothesis import given
from hypothesis import strategies as st

from bigfleet.model.backoffs import Backoff
from bigfleet.model.options import SECOND
from bigfleet.model.session_frames import ReclaimAck
from bigfleet.model.settings import CurrentSettings, Seconds
from bigfleet.operator.outbox import Outbox
from bigfleet.operator.schedule import RollupSchedule
from bigfleet.operator.settings import OperatorSettings

T0 = 1_000 * SECOND


def schedule() -> RollupSchedule:
    return RollupSchedule(
        CurrentSettings(OperatorSettings(rollup_interval=Seconds(10), rollup_debounce=Seconds(1)))
    )


def test_a_new_session_begins_with_a_rollup() -> None:
    plan = schedule()
    assert plan.due(1, True, T0)
    plan.on_sent(1, T0)
    assert not plan.due(1, True, T0 + SECOND)
    plan.on_connected()
    assert plan.due(1, True, T0 + SECOND)


def test_without_a_change_the_interval_passes_between_two() -> None:
    plan = schedule()
    plan.on_sent(1, T0)
    assert not plan.due(1, True, T0 + 10 * SECOND - 1)
    assert plan.due(1, True, T0 + 10 * SECOND)


def test_a_change_is_told_after_the_debounce_with_all_that_came_meanwhile() -> None:
    plan = schedule()
    plan.on_sent(1, T0)
    assert not plan.due(2, True, T0 + 3 * SECOND)
    assert not plan.due(5, True, T0 + 3 * SECOND + SECOND // 2)
    assert plan.due(9, True, T0 + 4 * SECOND)
    plan.on_sent(9, T0 + 4 * SECOND)
    assert not plan.due(9, True, T0 + 6 * SECOND)


def test_nothing_is_due_while_the_cluster_is_not_wholly_known() -> None:
    plan = schedule()
    assert not plan.due(1, False, T0)
    plan.on_sent(1, T0)
    assert not plan.due(2, False, T0 + 3_600 * SECOND)


@given(drawn=st.floats(0, 1, exclude_max=True), attempts=st.integers(1, 200))
def test_the_pause_before_dialling_again_stays_within_its_bounds(
    drawn: float, attempts: int
) -> None:
    backoff = Backoff(0.5, 30)
    pause = backoff.half_drawn(attempts, drawn)
    assert min(30, 0.5 * 2.0 ** (attempts - 1)) / 2 <= pause <= 30
    assert backoff.half_drawn(1, drawn) <= 0.5


def test_answers_leave_in_order_and_are_never_dropped_for_room() -> None:
    outbox = Outbox(2)
    first, second = ReclaimAck("bf1-1", 1), ReclaimAck("bf1-2", 1)
    assert outbox.put(first)
    assert outbox.put(second)
    assert not outbox.put(ReclaimAck("bf1-3", 1))
    assert [outbox.take(), outbox.take(), outbox.take()] == [first, second, None]
