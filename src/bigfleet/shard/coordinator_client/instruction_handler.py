"""What becomes of the coordinator's instructions. Pure: its driver makes things durable.

Three laws. A reply of an older term than the highest one seen is ignored whole, and the highest is
on disk before anything that came with it is acted on. What was done is remembered, on disk before
it is acknowledged, so that an instruction that comes twice is done once. An acknowledgement is sent
until a report that carried it was answered; what is not done yet has none, and comes again.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar, assert_never

import msgspec

from bigfleet.model.coordinator_calls import (
    AckOutcome,
    CoordinatorInstruction,
    Done,
    InstructionAck,
    InstructionKind,
    NotYet,
    Obeyed,
    Refused,
    ReportReply,
)

T = TypeVar("T")

#: Instructions that are remembered as done.
MOST_DONE = 10_000
#: Keys of what is kept.
TERM, DONE = "coordinator-term", "coordinator-done"
#: Why an instruction that was done before is acknowledged once more.
REPEATED = "duplicate-redelivery"

#: Carries an instruction out, or says why it does not.
Handler = Callable[[CoordinatorInstruction], Obeyed]


@dataclass(frozen=True, slots=True)
class InstructionAnswer:
    instruction: CoordinatorInstruction
    #: None: it is not done yet and will come again.
    ack: InstructionAck | None
    #: Why it is not done, or not yet.
    why: str = ""

    @property
    def outcome(self) -> str:
        return self.ack.outcome.label if self.ack is not None else "waiting"

    @property
    def accepted(self) -> bool:
        return self.ack is not None and self.ack.outcome is AckOutcome.ACCEPTED

    @property
    def just_done(self) -> bool:
        """Not done before and told again."""
        return self.accepted and self.why != REPEATED


class InstructionHandler:
    def __init__(self, kept: Mapping[str, bytes], handler: Handler) -> None:
        """`kept`: of an earlier life; what cannot be read counts as nothing."""
        self._handler = handler
        #: The highest term seen: it never goes down.
        self.term = _read(kept, TERM, int, 0)
        #: In order of doing, oldest first.
        self._done = dict.fromkeys(_read(kept, DONE, list[str], []))
        #: To be sent, newest answer of each instruction.
        self._acks: dict[str, InstructionAck] = {}

    def acks(self) -> tuple[InstructionAck, ...]:
        """For the next report; they wait until `on_sent`."""
        return tuple(self._acks.values())

    def on_sent(self, acks: Iterable[InstructionAck]) -> None:
        """A report with these was answered; what was answered anew meanwhile still waits."""
        for ack in acks:
            if self._acks.get(ack.instruction_id) == ack:
                del self._acks[ack.instruction_id]

    def is_stale(self, term: int) -> bool:
        return term < self.term

    def new_term(self, term: int) -> bytes | None:
        """What to keep under TERM before a reply of that term is obeyed; None: it is known."""
        return msgspec.json.encode(term) if term > self.term else None

    def on_term_kept(self, term: int) -> None:
        self.term = max(self.term, term)

    def obey(self, reply: ReportReply) -> list[InstructionAnswer]:
        """In order of their sequence; acknowledge with `answered` once DONE is kept."""
        answers = []
        for each in sorted(reply.instructions, key=lambda one: one.sequence):
            if not each.id:
                continue
            answer = self._answer_to(each)
            if answer.accepted:
                self._remember(each.id)
            answers.append(answer)
        return answers

    def done(self) -> bytes:
        """What to keep under DONE."""
        return msgspec.json.encode(list(self._done))

    def answered(self, answers: Iterable[InstructionAnswer]) -> None:
        for each in answers:
            if each.ack is not None:
                self._acks[each.ack.instruction_id] = each.ack

    def _answer_to(self, each: CoordinatorInstruction) -> InstructionAnswer:
        if each.id in self._done:
            return _answer(each, AckOutcome.ACCEPTED, REPEATED)
        if each.term < self.term:
            text = f"it is of term {each.term}, this shard has seen {self.term}"
            return _answer(each, AckOutcome.REJECTED_STALE, text)
        if each.kind is InstructionKind.UNKNOWN:
            text = "this version of the shard does not know the kind of instruction"
            return _answer(each, AckOutcome.REJECTED_INVALID, text)
        match self._handler(each):
            case Done(note):
                return _answer(each, AckOutcome.ACCEPTED, note)
            case Refused(why):
                return _answer(each, AckOutcome.FAILED, why)
            case NotYet(why):
                return InstructionAnswer(each, None, why)
            case impossible:
                assert_never(impossible)

    def _remember(self, instruction_id: str) -> None:
        self._done[instruction_id] = None
        while len(self._done) > MOST_DONE:
            del self._done[next(iter(self._done))]


def _answer(each: CoordinatorInstruction, outcome: AckOutcome, reason: str) -> InstructionAnswer:
    return InstructionAnswer(each, InstructionAck(each.id, outcome, reason), reason)


def _read(kept: Mapping[str, bytes], key: str, kind: type[T], default: T) -> T:
    row = kept.get(key)
    if row is None:
        return default
    try:
        return msgspec.json.decode(row, type=kind)
    except msgspec.MsgspecError:
        return default
