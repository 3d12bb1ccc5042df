"""The phases of a ProvisioningRequest over virtual time: questions, conditions, bookings."""

from dataclasses import dataclass, field, replace

import msgspec
import pytest

from bigfleet.edge.clock import SECOND
from bigfleet.kube.objects import StatusCondition
from bigfleet.kube.provisioning_requests import ATOMIC_SCALE_UP, CHECK_CAPACITY, ProvisioningRequest
from bigfleet.model.instants import instant_text
from bigfleet.podwatch.capacity_questions import CapacityAnswer, Verdict
from bigfleet.podwatch.conditions import merged
from bigfleet.podwatch.provisioning_requests import BookingPlan, BookingRefusal
from bigfleet.podwatch.provisioning_status import Phase, standing_of
from bigfleet.podwatch.provisioning_steps import ProvisioningSteps, Question, RequestView, Step
from tests.podwatch.provisioning import ARRIVING, NO, UID, UNKNOWN, YES, plan, request

START = 1_700_000_000 * SECOND


@dataclass
class Life:
    """One request, whose booking is made and heard of at once unless `slow`."""

    of: str = CHECK_CAPACITY
    plan: BookingPlan | BookingRefusal = field(default_factory=lambda: plan(3))
    covered: CapacityAnswer = YES
    there: CapacityAnswer = YES
    valid: int = 600
    slow: bool = False
    at: int = START
    steps: ProvisioningSteps = field(default_factory=ProvisioningSteps)
    request: ProvisioningRequest = field(default_factory=lambda: request(3))
    asked: list[Question] = field(default_factory=list)
    books: bool | None = False
    left: int = 3

    def look(self) -> Step:
        """Until there is nothing to ask and nothing to say."""
        for _ in range(6):
            step = self.steps.next(self._view(), self.at)
            if step.question is not None:
                self.asked.append(step.question)
                first = step.question is Question.WOULD_BE_COVERED
                answer = self.covered if first else self.there
                self.steps.answered(UID, step.question, answer, self.at)
                continue
            before = self.request.status.conditions
            after = merged(before, step.conditions, 1, instant_text(self.at))
            if after != before:
                self.request = replaced(self.request, after)
                continue
            self.books = self.books if step.books is None else step.books
            return step
        raise AssertionError("it never comes to rest")

    def run(self, seconds: float) -> None:
        """Looks whenever it asks to be looked at, for that long."""
        until = self.at + round(seconds * SECOND)
        step = self.look()
        while step.again_at is not None and step.again_at <= until:
            self.at = max(step.again_at, self.at + 1)
            step = self.look()
        self.at = until
        self.look()

    def restart(self) -> None:
        self.steps = ProvisioningSteps()

    def _view(self) -> RequestView:
        standing = standing_of(self.request.status.conditions)
        made = bool(self.books) and not self.slow
        return RequestView(
            UID, self.of, START, self.valid, standing, self.plan, made, made, self.left
        )

    @property
    def phase(self) -> Phase:
        return standing_of(self.request.status.conditions).phase

    def says(self, name: str) -> str:
        found = [each for each in self.request.status.conditions if each.type == name]
        return f"{found[0].status} {found[0].reason}" if found else ""

    def text(self, name: str) -> str:
        return next(each.message for each in self.request.status.conditions if each.type == name)


def replaced(
    old: ProvisioningRequest, conditions: tuple[StatusCondition, ...]
) -> ProvisioningRequest:
    status = msgspec.structs.replace(old.status, conditions=conditions)
    return msgspec.structs.replace(old, status=status)


def test_a_check_that_is_answered_with_yes_books_for_ten_minutes() -> None:
    life = Life()
    life.run(0)
    life.run(0)
    assert life.says("Accepted") == "True Accepted"
    assert life.says("Provisioned") == "True CapacityIsFound"
    life.run(599)
    assert (life.phase, life.books) == (Phase.BOOKED, True)
    life.run(1)
    assert life.says("BookingExpired") == "True BookingExpired"
    assert life.says("Provisioned") == "True CapacityIsFound"
    assert (life.phase, life.books) == (Phase.OVER, False)
    assert life.asked.count(Question.WOULD_BE_COVERED) == 1


def test_a_check_that_is_answered_with_no_fails_at_once_with_the_reason_and_books_nothing() -> None:
    life = Life(covered=NO)
    life.run(3600)
    assert life.says("Failed") == "True CapacityIsNotFound"
    assert life.text("Failed") == "supply.none: no machine has 8 gpu"
    assert life.books is False
    assert life.asked == [Question.WOULD_BE_COVERED]


def test_a_shard_that_does_not_answer_is_asked_again_ever_more_rarely_until_the_time_is_over() -> (
    None
):
    life = Life(covered=UNKNOWN)
    life.run(60)
    assert life.says("Provisioned") == "False ShardDoesNotAnswer"
    assert life.says("Failed") == ""
    # After 0, 10, 30, 70, 150, 270, 390 and 510 s.
    life.run(539)
    assert len(life.asked) == 8
    life.run(1)
    assert life.says("Failed") == "True Expired"
    assert "does not answer" in life.text("Failed")


def test_an_atomic_request_that_cannot_fit_buys_nothing_and_is_asked_again_until_it_can() -> None:
    life = Life(of=ATOMIC_SCALE_UP, covered=NO)
    life.run(100)
    assert life.books is False
    assert life.says("Accepted") == "True Accepted"
    assert life.says("Provisioned") == "False CapacityIsNotFound"
    life.covered = YES
    life.run(60)
    assert life.says("Provisioned") == "True CapacityIsProvisioned"
    assert life.books is True


def test_an_atomic_request_that_never_fits_fails_when_its_time_is_over() -> None:
    life = Life(of=ATOMIC_SCALE_UP, covered=NO, valid=100)
    life.run(99)
    assert life.says("Failed") == ""
    life.run(1)
    assert life.says("Failed") == "True Expired"
    assert "supply.none" in life.text("Failed")
    assert life.books is False


def test_an_atomic_request_that_is_not_complete_in_time_withdraws_everything() -> None:
    life = Life(of=ATOMIC_SCALE_UP, there=ARRIVING, valid=300)
    life.run(299)
    assert (life.phase, life.books) == (Phase.REQUESTED, True)
    life.run(1)
    assert life.says("Failed") == "True Expired"
    assert "on their way" in life.text("Failed")
    assert life.books is False


def test_an_atomic_request_whose_machines_do_not_come_is_withdrawn_whole_and_tried_again() -> None:
    life = Life(of=ATOMIC_SCALE_UP, there=NO)
    life.look()
    life.run(10)
    assert (life.phase, life.books) == (Phase.REQUESTED, True)
    life.covered = NO
    life.run(30)
    assert (life.phase, life.books) == (Phase.WAITING, False)
    assert life.says("Provisioned") == "False CapacityIsNotFound"
    life.covered = life.there = YES
    life.run(200)
    assert life.says("Provisioned") == "True CapacityIsProvisioned"


def test_a_moment_without_cover_revokes_nothing_and_a_minute_of_it_does() -> None:
    life = Life()
    life.run(10)
    life.there = NO
    life.run(60)
    life.there = YES
    life.run(60)
    assert life.says("CapacityRevoked") == ""
    life.there = NO
    life.run(120)
    assert life.says("CapacityRevoked") == "True CapacityIsNotFound"
    assert "supply.none" in life.text("CapacityRevoked")
    assert life.books is False


def test_a_booking_that_pods_have_used_up_is_not_asked_about() -> None:
    life = Life()
    life.run(10)
    life.asked.clear()
    life.left, life.there = 0, NO
    life.run(500)
    assert Question.ARE_THERE not in life.asked
    assert life.says("CapacityRevoked") == ""


@pytest.mark.parametrize("of", [CHECK_CAPACITY, ATOMIC_SCALE_UP])
def test_a_booking_that_pods_use_up_before_it_is_confirmed_is_confirmed(of: str) -> None:
    life = Life(of=of, there=UNKNOWN)
    life.run(20)
    assert life.says("Provisioned") == "False CapacityRequested"
    life.left = 0
    life.run(5)
    assert life.says("Provisioned").startswith("True")


def test_a_check_whose_needs_are_short_once_the_shard_decides_is_not_confirmed_but_fails() -> None:
    """Another cluster was told yes at the same time, and has the machines."""
    life = Life(there=NO)
    life.run(20)
    assert life.says("Provisioned") == "False CapacityRequested"
    life.run(40)
    assert life.says("Failed") == "True CapacityIsNotFound"
    assert "supply.none" in life.text("Failed")
    assert life.books is False


def test_a_check_is_confirmed_while_machines_come_and_an_atomic_request_when_they_are_there() -> (
    None
):
    check, atomic = Life(there=ARRIVING), Life(of=ATOMIC_SCALE_UP, there=ARRIVING)
    check.run(20)
    atomic.run(20)
    assert check.says("Provisioned") == "True CapacityIsFound"
    assert atomic.says("Provisioned") == "False CapacityRequested"
    atomic.there = YES
    atomic.run(5)
    assert atomic.says("Provisioned") == "True CapacityIsProvisioned"


@pytest.mark.parametrize("of", [CHECK_CAPACITY, ATOMIC_SCALE_UP])
def test_what_a_shard_decided_before_it_had_the_booking_confirms_nothing(of: str) -> None:
    """Pods of the same Need run already, so it is met until the shard counts the booking too."""
    life = Life(of=of, there=replace(YES, cycle=40))
    life.run(30)
    assert life.says("Provisioned") == "False CapacityRequested"
    life.there = replace(YES, cycle=41)
    life.run(10)
    assert life.says("Provisioned") == "False CapacityRequested"
    assert life.steps.is_unheard(UID)
    life.there = replace(YES, cycle=42)
    life.run(5)
    assert life.says("Provisioned").startswith("True")
    assert not life.steps.is_unheard(UID)


def test_a_shard_that_starts_anew_counts_its_cycles_anew() -> None:
    life = Life(there=replace(YES, cycle=40))
    life.look()
    life.there = replace(YES, cycle=3)
    life.run(10)
    assert life.says("Provisioned") == "False CapacityRequested"
    life.there = replace(YES, cycle=5)
    life.run(5)
    assert life.says("Provisioned") == "True CapacityIsFound"


@pytest.mark.parametrize("of", [CHECK_CAPACITY, ATOMIC_SCALE_UP])
def test_a_no_beside_other_bookings_is_asked_again_soon_and_fails_nothing(of: str) -> None:
    life = Life(of=of, covered=CapacityAnswer(Verdict.OTHERS_FIRST, "beside 1 booking"))
    life.run(61)
    assert life.says("Provisioned") == "False OtherBookingsFirst"
    assert life.says("Failed") == ""
    # Every five seconds, at the same pace.
    assert len(life.asked) == 13
    assert not life.steps.is_unheard(UID)
    life.covered = YES
    life.run(10)
    assert life.says("Provisioned").startswith("True")


@pytest.mark.parametrize("of", [CHECK_CAPACITY, ATOMIC_SCALE_UP])
def test_nothing_is_confirmed_before_the_shard_has_heard_of_every_share(of: str) -> None:
    life = Life(of=of, slow=True)
    life.run(100)
    assert life.says("Provisioned") == "False CapacityRequested"
    life.slow = False
    life.run(10)
    assert life.says("Provisioned").startswith("True")


@pytest.mark.parametrize("of", [CHECK_CAPACITY, ATOMIC_SCALE_UP])
@pytest.mark.parametrize("seconds", [0, 3, 50, 599, 620])
def test_a_replica_that_takes_over_goes_on_where_the_other_one_stopped(
    of: str, seconds: int
) -> None:
    life, twin = Life(of=of), Life(of=of)
    life.run(seconds)
    twin.run(seconds)
    before = life.asked.count(Question.WOULD_BE_COVERED)
    life.restart()
    life.run(100)
    twin.run(100)
    assert (life.phase, life.books) == (twin.phase, twin.books)
    assert life.request.status == twin.request.status
    assert life.asked.count(Question.WOULD_BE_COVERED) == before


def test_what_can_never_be_right_fails_at_once() -> None:
    life = Life(plan=BookingRefusal("InvalidCount", "podSets[0].count is 0"))
    life.look()
    assert life.says("Failed") == "True InvalidCount"
    assert life.asked == []


def test_a_template_that_is_not_there_is_waited_for_until_the_time_is_over() -> None:
    missing = BookingRefusal("PodTemplateNotFound", "there is no PodTemplate x", is_final=False)
    life = Life(plan=missing)
    life.run(30)
    assert life.says("Accepted") == "False PodTemplateNotFound"
    late = replace(life, request=life.request, plan=plan(3))
    late.look()
    late.look()
    assert late.says("Accepted") == "True Accepted"
    assert late.says("Provisioned") == "True CapacityIsFound"
    life.run(600)
    assert life.says("Failed") == "True Expired"


def test_what_cannot_be_read_any_more_leaves_a_booking_as_it_is() -> None:
    life = Life()
    life.run(10)
    life.plan = BookingRefusal("PodTemplateNotFound", "gone", is_final=False)
    life.restart()
    life.run(100)
    assert (life.phase, life.books) == (Phase.BOOKED, True)


def test_a_crowd_of_requests_looks_more_rarely() -> None:
    """A thousand bookings are four listings a second, not thirty."""
    life = Life()
    for number in range(1000):
        life.steps.answered(f"other-{number}", Question.ARE_THERE, YES, life.at)
    life.run(10)
    life.asked.clear()
    life.run(550)
    assert life.asked == [Question.ARE_THERE] * 2


def test_what_is_over_is_forgotten() -> None:
    life = Life(covered=NO)
    life.look()
    assert len(life.steps) == 0
