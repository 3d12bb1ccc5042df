"""What the shard's state asks of its driver. Imperative; the driver carries them out in order and
decides nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bigfleet.model.journal import JournalNote
from bigfleet.model.machines import Instant
from bigfleet.model.provider_calls import Code, Mutation


@dataclass(frozen=True, slots=True)
class GetCall:
    machine_id: str


@dataclass(frozen=True, slots=True)
class CallProvider:
    """Answered by exactly one CallAnswered with the same number."""

    number: int
    provider: str
    call: Mutation | GetCall
    timeout_seconds: float


@dataclass(frozen=True, slots=True)
class FlushSession:
    """The session's outbox has something to send."""

    session: int


@dataclass(frozen=True, slots=True)
class EndSession:
    session: int
    code: Code
    text: str


@dataclass(frozen=True, slots=True)
class AttachProvider:
    """Keep a line to one more provider from now on."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class WakeCycle:
    """Decide again soon; wakes collapse."""


@dataclass(frozen=True, slots=True)
class Persist:
    """Write a row of `state.db`; None deletes it."""

    table: str
    key: str
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Log:
    level: str
    event: str
    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WriteAudit:
    """One line of the audit log."""

    at: Instant
    line: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WriteNote:
    """A record of the journal beside those of the cycles."""

    #: The last that had begun.
    cycle: int
    body: JournalNote


Instruction = (
    CallProvider
    | FlushSession
    | EndSession
    | AttachProvider
    | WakeCycle
    | Persist
    | Log
    | WriteAudit
    | WriteNote
)
