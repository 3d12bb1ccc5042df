"""What becomes of the coordinator's instructions. Pure: whoever drives it makes things durable.

Three laws. A reply of an older term than the highest one seen is ignored whole, and the highest is
on disk before anything that came with it is acted on. What was done is remembered, on disk before
it is acknowledged, so that an instruction that comes twice is done once. An acknowledgement is sent
until a report that carried it was answered.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from bigfleet.model.coordinator_calls import (
    AckOutcome,
    CoordinatorInstruction,
    InstructionAck,
    InstructionKind,
    ReportReply,
)

T = TypeVar("T")

#: Instructions that are remembered as done.
MOST_DONE = 10_000
#: Keys of what is kept.
TERM, DONE = "coordinator-term", "coordinator-done"

#: Does it, or says why not; empty: done. None may say so without having done the work.
Handler = Callable[[CoordinatorInstruction], str]


@dataclass(frozen=True, slots=True)
class Obeyed:
    instruction: CoordinatorInstruction
    ack: InstructionAck


class Obeying:
    def __init__(
        self, kept: Mapping[str, bytes], handlers: Mapping[InstructionKind, Handler]
    ) -> None:
        """`kept`: of an earlier life; what cannot be read counts as nothing."""
        self._handlers = handlers
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

    def is_stale(self, reply: ReportReply) -> bool:
        return reply.term < self.term

    def new_term(self, reply: ReportReply) -> bytes | None:
        """What to keep under TERM before the reply is obeyed; None: the term is known."""
        return msgspec.json.encode(reply.term) if reply.term > self.term else None

    def on_term_kept(self, reply: ReportReply) -> None:
        self.term = max(self.term, reply.term)

    def obey(self, reply: ReportReply) -> list[Obeyed]:
        """In order of their sequence; acknowledge with `answered` once DONE is kept."""
        obeyed = []
        for each in sorted(reply.instructions, key=lambda one: one.sequence):
            if not each.id:
                continue
            outcome, reason = self._outcome_of(each)
            if outcome is AckOutcome.ACCEPTED:
                self._remember(each.id)
            obeyed.append(Obeyed(each, InstructionAck(each.id, outcome, reason)))
        return obeyed

    def done(self) -> bytes:
        """What to keep under DONE."""
        return msgspec.json.encode(list(self._done))

    def answered(self, obeyed: Iterable[Obeyed]) -> None:
        for each in obeyed:
            self._acks[each.ack.instruction_id] = each.ack

    def _outcome_of(self, each: CoordinatorInstruction) -> tuple[AckOutcome, str]:
        if each.id in self._done:
            return AckOutcome.ACCEPTED, "duplicate-redelivery"
        if each.term < self.term:
            text = f"it is of term {each.term}, this shard has seen {self.term}"
            return AckOutcome.REJECTED_STALE, text
        if each.kind is InstructionKind.UNKNOWN:
            text = "this version of the shard does not know the kind of instruction"
            return AckOutcome.REJECTED_INVALID, text
        handler = self._handlers.get(each.kind)
        if handler is None:
            return AckOutcome.FAILED, f"this shard does not carry out {each.kind} yet"
        why = handler(each)
        return (AckOutcome.FAILED, why) if why else (AckOutcome.ACCEPTED, "")

    def _remember(self, instruction_id: str) -> None:
        self._done[instruction_id] = None
        while len(self._done) > MOST_DONE:
            del self._done[next(iter(self._done))]


def _read(kept: Mapping[str, bytes], key: str, kind: type[T], default: T) -> T:
    row = kept.get(key)
    if row is None:
        return default
    try:
        return msgspec.json.decode(row, type=kind)
    except msgspec.MsgspecError:
        return default
