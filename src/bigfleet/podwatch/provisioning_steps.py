"""Where a ProvisioningRequest goes next: a question, a word in its status, shares of a booking.

    waiting --yes--> requested --all there--> booked --10 min--> over (BookingExpired)
       |  ^             |  short for a while     |  short for a while
       |  +-------------+                        +--> over (CapacityRevoked)
       +-- no (check-capacity), or the time is over --> over (Failed)

The phase is read from the conditions, so that any replica goes on where another one stopped; what
is kept here is only when to ask again. Time comes in as an argument.
"""

from dataclasses import dataclass, field, replace
from enum import Enum

from bigfleet.kube.provisioning_requests import CHECK_CAPACITY
from bigfleet.model.backoffs import Backoff
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.podwatch.capacity_questions import CapacityAnswer, Verdict
from bigfleet.podwatch.conditions import SaidCondition
from bigfleet.podwatch.provisioning_requests import BookingPlan, BookingRefusal
from bigfleet.podwatch.provisioning_status import (
    REQUESTED,
    Phase,
    Standing,
    accepted,
    booking_expired,
    capacity_revoked,
    failed,
    not_accepted,
    not_provisioned,
    provisioned,
)

BOOKING_SECONDS = 600.0
#: Between two what-ifs of a request that was not answered with yes.
ASK_AGAIN = Backoff(10.0, 120.0)
#: Between two looks at the Needs of a request whose machines come, and of one that is booked.
LOOK_SECONDS = 5.0
BOOKED_LOOK_SECONDS = 30.0
#: With many requests longer: each look lists the Needs of the cluster.
LOOKS_PER_SECOND = 4.0
#: How long Needs must be short before a booking that is made is given up for another try, and
#: before one that was confirmed is revoked: a cycle in which a machine changes hands is neither.
SHORT_SECONDS = 30.0
REVOKED_SECONDS = 60.0
#: Templates that were not there are looked for so often.
REREAD_SECONDS = 5.0
#: From the cycle that was the last one when every share was acknowledged: the next one may have
#: begun before that, the one after it has all of them in its demand.
DECIDED_AFTER_CYCLES = 2


class Question(Enum):
    WOULD_BE_COVERED = "would be covered"
    ARE_THERE = "are there"


@dataclass(frozen=True, slots=True)
class RequestView:
    """One request, as the caches and the server show it."""

    uid: str
    class_name: str
    created: Instant
    valid_seconds: int
    standing: Standing
    #: None: it was not read.
    plan: BookingPlan | BookingRefusal | None
    #: Every share is there; and the shard has heard of each.
    is_made: bool = False
    is_acknowledged: bool = False
    #: Shares that no pod has taken yet.
    left: int = 0
    #: What is to be said beside Accepted.
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    #: To be answered before anything else is done.
    question: Question | None = None
    #: To be said; empty: nothing new.
    conditions: tuple[SaidCondition, ...] = ()
    #: Whether its shares are to be there; None: what is there stays as it is.
    books: bool | None = False
    again_at: Instant | None = None


@dataclass(slots=True)
class _Memory:
    """Of one request that is not over."""

    answer: CapacityAnswer | None = None
    #: Answers in a row that were not yes.
    refusals: int = 0
    ask_at: Instant = 0
    standing: CapacityAnswer | None = None
    look_at: Instant = 0
    #: Since when every answer was no, and when the last one came.
    short_since: Instant | None = None
    looked_at: Instant = 0
    #: The what-if said yes, or its booking is made.
    granted: bool = False
    #: The shard's last cycle when every share was acknowledged; None: that was not yet so.
    heard_in: int | None = None
    #: The shard has decided with the whole booking in its demand.
    decided: bool = False

    def is_short_for(self, seconds: float) -> bool:
        """By answers alone: the time since the last one says nothing."""
        return self.short_since is not None and self.looked_at >= self.short_since + _nanos(seconds)

    def look_in(self, cycle: int | None) -> None:
        """An answer about Needs came from that cycle; numbers start anew with a new shard."""
        if cycle is None:
            self.decided = True
        elif self.heard_in is None or cycle < self.heard_in:
            self.heard_in = cycle
        elif cycle >= self.heard_in + DECIDED_AFTER_CYCLES:
            self.decided = True

    def take_back(self) -> None:
        """Its booking is withdrawn, or it has none."""
        self.granted, self.heard_in, self.decided = False, None, False


@dataclass(slots=True)
class ProvisioningSteps:
    _memories: dict[str, _Memory] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._memories)

    def forget(self, uid: str) -> None:
        self._memories.pop(uid, None)

    def answered(self, uid: str, question: Question, answer: CapacityAnswer, at: Instant) -> None:
        memory = self._memories.setdefault(uid, _Memory())
        if question is Question.WOULD_BE_COVERED:
            memory.take_back()
            memory.answer, memory.granted = answer, answer.verdict is Verdict.YES
            if answer.verdict is Verdict.OTHERS_FIRST:
                memory.ask_at = at + _nanos(LOOK_SECONDS)
                return
            memory.refusals = 0 if memory.granted else memory.refusals + 1
            memory.ask_at = ASK_AGAIN.after(memory.refusals, at)
            return
        if answer.verdict is not Verdict.UNKNOWN:
            memory.look_in(answer.cycle)
            if not memory.decided:
                answer = replace(answer, verdict=Verdict.ARRIVING, text=_UNDECIDED)
        memory.standing, memory.looked_at = answer, at
        if answer.verdict is not Verdict.NO:
            memory.short_since = None
        elif memory.short_since is None:
            memory.short_since = at

    def is_unheard(self, uid: str) -> bool:
        """Whether it was granted, and the shard may not know it yet."""
        memory = self._memories.get(uid)
        return memory is not None and memory.granted and not memory.decided

    def next(self, view: RequestView, at: Instant) -> Step:
        if view.standing.phase is Phase.OVER:
            self.forget(view.uid)
            return Step()
        memory = self._memories.setdefault(view.uid, _Memory())
        match view.standing.phase:
            case Phase.WAITING:
                return self._waiting(view, memory, at)
            case Phase.REQUESTED:
                return self._requested(view, memory, at)
            case _:
                return self._booked(view, memory, at)

    def _pause(self, seconds: float) -> int:
        return _nanos(max(seconds, len(self._memories) / LOOKS_PER_SECOND))

    def _waiting(self, view: RequestView, memory: _Memory, at: Instant) -> Step:
        deadline, plan = _deadline(view), view.plan
        if plan is None:
            return Step(again_at=at + _nanos(REREAD_SECONDS))
        if isinstance(plan, BookingRefusal):
            if plan.is_final:
                return Step(conditions=failed(plan.reason, plan.text))
            if at >= deadline:
                return Step(conditions=_expired(view, plan.text))
            again_at = min(deadline, at + _nanos(REREAD_SECONDS))
            said = not_accepted(plan.reason, plan.text)
            return Step(conditions=(said,), again_at=again_at)
        answer, taken = memory.answer, accepted(_accepted_text(view, plan))
        if answer is not None and answer.verdict is Verdict.YES:
            memory.answer = None
            text = f"{plan.pods} pods would be covered ({answer.text}); their capacity is requested"
            return Step(conditions=(taken, not_provisioned(REQUESTED, text)))
        if at >= deadline:
            said_last = answer.text if answer is not None else "the shard was not asked in time"
            return Step(conditions=(taken, *_expired(view, said_last)))
        if answer is None:
            return Step(question=Question.WOULD_BE_COVERED)
        if answer.verdict is Verdict.NO and view.class_name == CHECK_CAPACITY:
            return Step(conditions=(taken, *failed("CapacityIsNotFound", answer.text)))
        if at >= memory.ask_at:
            return Step(question=Question.WOULD_BE_COVERED)
        reason = _WAITING_REASONS.get(answer.verdict, "CapacityIsNotFound")
        text = f"{answer.text}; it is asked again until {_text(deadline)}"
        waits = not_provisioned(reason, text)
        return Step(conditions=(taken, waits), again_at=min(memory.ask_at, deadline))

    def _requested(self, view: RequestView, memory: _Memory, at: Instant) -> Step:
        memory.answer, deadline = None, _deadline(view)
        standing, memory.granted = memory.standing, True
        why = standing.text if standing is not None else "not all of it has reached the shard"
        if at >= deadline:
            return Step(conditions=_expired(view, why))
        if not isinstance(view.plan, BookingPlan):
            return Step(books=None, again_at=min(deadline, at + _nanos(REREAD_SECONDS)))
        if memory.is_short_for(SHORT_SECONDS):
            memory.refusals += 1
            memory.ask_at, memory.short_since = ASK_AGAIN.after(memory.refusals, at), None
            memory.answer, memory.standing = CapacityAnswer(Verdict.NO, why), None
            memory.take_back()
            text = f"{why}; all of it is withdrawn, and asked for again until {_text(deadline)}"
            return Step(conditions=(not_provisioned("CapacityIsNotFound", text),))
        if view.is_acknowledged and _is_confirmed(view, memory):
            is_check = view.class_name == CHECK_CAPACITY
            reason = "CapacityIsFound" if is_check else "CapacityIsProvisioned"
            return self._confirmed(view, view.plan, reason, at)
        if view.is_acknowledged and at >= memory.look_at:
            memory.look_at = at + self._pause(LOOK_SECONDS)
            return Step(question=Question.ARE_THERE, books=True)
        again_at = max(memory.look_at, at) if view.is_acknowledged else at + _nanos(LOOK_SECONDS)
        said: tuple[SaidCondition, ...] = ()
        if standing is not None and view.is_acknowledged:
            said = (not_provisioned(REQUESTED, standing.text),)
        return Step(conditions=said, books=True, again_at=min(again_at, deadline))

    def _confirmed(self, view: RequestView, plan: BookingPlan, reason: str, at: Instant) -> Step:
        ends = _text(at + _nanos(BOOKING_SECONDS))
        text = f"{plan.pods} pods are covered; the capacity is booked for them until {ends}"
        return Step(conditions=(provisioned(reason, text),), books=True)

    def _booked(self, view: RequestView, memory: _Memory, at: Instant) -> Step:
        since, memory.granted, memory.decided = view.standing.since, True, True
        ends = (since if since is not None else view.created) + _nanos(BOOKING_SECONDS)
        if at >= ends:
            text = f"it was booked for {BOOKING_SECONDS:.0f} s, until {_text(ends)}"
            return Step(conditions=(booking_expired(f"{text}; pods that use it keep asking"),))
        if memory.is_short_for(REVOKED_SECONDS):
            why = memory.standing.text if memory.standing is not None else ""
            text = f"what was booked is not covered any more: {why}"
            return Step(conditions=(capacity_revoked("CapacityIsNotFound", text),))
        books = True if isinstance(view.plan, BookingPlan) else None
        if view.left and books and at >= memory.look_at:
            memory.look_at = at + self._pause(BOOKED_LOOK_SECONDS)
            return Step(question=Question.ARE_THERE, books=True)
        again_at = ends if not view.left else min(ends, max(memory.look_at, at))
        if books is None:
            again_at = min(ends, at + _nanos(REREAD_SECONDS))
        return Step(books=books, again_at=again_at)


_WAITING_REASONS = {
    Verdict.UNKNOWN: "ShardDoesNotAnswer",
    Verdict.OTHERS_FIRST: "OtherBookingsFirst",
}
_UNDECIDED = "the shard has all of it, and has not decided with it yet"


def _is_confirmed(view: RequestView, memory: _Memory) -> bool:
    """The atomic class waits for machines; a check only for a decision that finds them."""
    if not view.left:
        return True
    if memory.standing is None or not memory.decided:
        return False
    is_check = view.class_name == CHECK_CAPACITY
    enough = (Verdict.YES, Verdict.ARRIVING) if is_check else (Verdict.YES,)
    return memory.standing.verdict in enough


def _deadline(view: RequestView) -> Instant:
    return view.created + view.valid_seconds * SECOND


def _expired(view: RequestView, why: str) -> tuple[SaidCondition, ...]:
    text = f"not provisioned within {view.valid_seconds} s of its creation: {why}"
    return failed("Expired", text)


def _accepted_text(view: RequestView, plan: BookingPlan) -> str:
    return f"the shard is asked whether {plan.pods} pods would be covered{view.remark}"


def _text(at: Instant) -> str:
    return instant_text(at - at % SECOND)


def _nanos(seconds: float) -> int:
    return round(seconds * SECOND)
