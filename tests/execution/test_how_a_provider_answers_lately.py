"""What a shard tells of a provider's answers in the last minutes."""

from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_views import ProviderCalls
from bigfleet.shard.calls import MOST_KEPT, WINDOW_SECONDS, Answer, Calls
from bigfleet.shard.effects import Effects
from bigfleet.shard.events import CallAnswered
from bigfleet.shard.instructions import CallProvider, GetCall
from tests.execution.rig import record_of

START = 1_000 * SECOND
FOUND = record_of("m-1", MachineState.IDLE)


def nothing(_answer: Answer, _at: Instant) -> None:
    """What is done with an answer."""


class Line:
    """Calls of one machine after another, each answered before the next."""

    def __init__(self) -> None:
        self.calls = Calls(Effects())
        self.number = 0

    def answered(self, seconds: float, at: int = START, *, failed: bool = False) -> None:
        """Asked `seconds` before `at`."""
        self.number += 1
        call = GetCall("m-1")
        self.calls.ask("cloud", call, 10.0, at - round(seconds * SECOND), nothing)
        answer = Rejected(Code.UNAVAILABLE, "down") if failed else FOUND
        self.calls.on_answer(
            CallAnswered(CallProvider(self.number, "cloud", call, 10.0), answer, at)
        )


def test_nothing_is_told_of_a_provider_that_was_not_called() -> None:
    assert Calls(Effects()).recent("cloud", START) is None


def test_half_and_nearly_all_answers_came_within_these_times() -> None:
    line = Line()
    for n in range(1, 101):
        line.answered(n / 100)
    assert line.calls.recent("cloud", START) == ProviderCalls(WINDOW_SECONDS, 100, 0, 0.5, 0.95)


def test_calls_that_fail_are_counted_and_do_not_make_the_others_look_slow() -> None:
    line = Line()
    line.answered(0.25)
    line.answered(10.0, failed=True)
    assert line.calls.recent("cloud", START) == ProviderCalls(WINDOW_SECONDS, 2, 1, 0.25, 0.25)


def test_where_all_calls_fail_no_time_is_told() -> None:
    line = Line()
    line.answered(10.0, failed=True)
    assert line.calls.recent("cloud", START) == ProviderCalls(WINDOW_SECONDS, 1, 1, 0.0, 0.0)


def test_after_some_minutes_a_call_says_nothing_of_now() -> None:
    line = Line()
    line.answered(9.0)
    line.answered(1.0, START + 200 * SECOND)
    later = START + (WINDOW_SECONDS + 1) * SECOND
    assert line.calls.recent("cloud", later) == ProviderCalls(WINDOW_SECONDS, 1, 0, 1.0, 1.0)
    assert line.calls.recent("cloud", later + 300 * SECOND) is None


def test_a_provider_that_is_called_a_lot_is_told_of_a_shorter_time() -> None:
    line = Line()
    for n in range(2 * MOST_KEPT):
        line.answered(0.1, START + n * SECOND // 50)
    told = line.calls.recent("cloud", START + 2 * MOST_KEPT * SECOND // 50)
    assert told is not None
    assert told.ended == MOST_KEPT
    assert told.window_seconds == MOST_KEPT // 50
