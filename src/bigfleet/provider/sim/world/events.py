"""What the substrate is told, what it answers with, and what it writes down.

Events are past tense and carry their time; instructions are imperative and are carried out by the
driver. `Noted` lines are the event log: within one instant they are ordered by subject, so that
the log does not depend on the order in which calls happened to arrive.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import orjson

from bigfleet.model.instants import instant_text
from bigfleet.model.machines import Instant
from bigfleet.provider.sim.world.answers import Treatment, WrongList


class Step(StrEnum):
    """The work a server asks for; `READY` is the second half of a Configure."""

    CREATE = "create"
    CONFIGURE = "configure"
    READY = "ready"
    DRAIN = "drain"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Command:
    """A control verb with its arguments by name, as text; lists are repeated arguments."""

    verb: str
    arguments: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)

    def text(self, name: str, default: str = "") -> str:
        value = self.arguments.get(name, default)
        return value if isinstance(value, str) else " ".join(value)

    def words(self, name: str) -> tuple[str, ...]:
        value = self.arguments.get(name, ())
        return tuple(value.split()) if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class StepAsked:
    """The server began a step of an operation on a machine."""

    step: Step
    machine: str
    operation: str
    at: Instant
    cluster: str = ""
    grace_seconds: int = 0
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class StepAbandoned:
    """The server gave a step up: its deadline passed, or it shut down."""

    step: Step
    operation: str
    at: Instant


@dataclass(frozen=True, slots=True)
class TimePassed:
    at: Instant


@dataclass(frozen=True, slots=True)
class CommandGiven:
    command: Command
    at: Instant


@dataclass(frozen=True, slots=True)
class ScriptGiven:
    """A list of verbs to come, each with its time from now."""

    entries: tuple[tuple[int, Command], ...]
    at: Instant


@dataclass(frozen=True, slots=True)
class AdmissionAsked:
    """The server is about to accept a mutation."""

    step: Step
    machine: str
    at: Instant


@dataclass(frozen=True, slots=True)
class DescribeAsked:
    at: Instant


@dataclass(frozen=True, slots=True)
class ResetAsked:
    """The server's healer cleans a failed host."""

    machine: str
    at: Instant


@dataclass(frozen=True, slots=True)
class HostAdopted:
    """A server that outlived the last substrate says what was in a slot."""

    machine: str
    at: Instant
    #: Empty: the slot had no host.
    host_ref: str = ""
    #: Empty: the host served none.
    cluster: str = ""
    #: What the machine cost; None: not known.
    price: float | None = None


@dataclass(frozen=True, slots=True)
class ApiCalled:
    """A call reached the provider's own API."""

    method: str
    at: Instant


Event = (
    StepAsked
    | StepAbandoned
    | TimePassed
    | CommandGiven
    | ScriptGiven
    | AdmissionAsked
    | DescribeAsked
    | ResetAsked
    | HostAdopted
    | ApiCalled
)


class Failure(StrEnum):
    ERROR = "error"
    RETRYABLE = "retryable"
    STOCKOUT = "stockout"
    QUOTA = "quota"
    GONE = "gone"
    #: Never answers: only the server's own deadline ends it.
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class Finish:
    step: Step
    operation: str
    machine: str
    host_ref: str = ""


@dataclass(frozen=True, slots=True)
class Refuse:
    step: Step
    operation: str
    machine: str
    failure: Failure
    text: str
    after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class WarnOfEnd:
    """A spot notice: the host ends at `ends_at`."""

    machine: str
    ends_at: Instant


@dataclass(frozen=True, slots=True)
class ReportGone:
    machine: str
    text: str


@dataclass(frozen=True, slots=True)
class Reprice:
    """A pool's price or risk changed."""

    pool: str


@dataclass(frozen=True, slots=True)
class Redescribe:
    """The inventory itself changed."""


@dataclass(frozen=True, slots=True)
class RunOutside:
    """A scripted verb that is not about the substrate: the store, the process, the clock."""

    command: Command


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a command; `problem` says why it was refused."""

    facts: Mapping[str, object] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ShowInventory:
    """Answer a describe with this share of the inventory, after a delay."""

    share: float
    delay_nanos: int


@dataclass(frozen=True, slots=True)
class TreatCall:
    """What to do to one call of the API."""

    treatment: Treatment
    wrong_list: WrongList | None = None


Instruction = (
    Finish
    | Refuse
    | WarnOfEnd
    | ReportGone
    | Reprice
    | Redescribe
    | RunOutside
    | Reply
    | ShowInventory
    | TreatCall
)


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One line of the event log."""

    at: Instant
    #: A machine, a pool, a region, or `sim` for what concerns all.
    subject: str
    event: str
    facts: Mapping[str, object] = field(default_factory=dict)

    def document(self) -> dict[str, object]:
        return {"at": instant_text(self.at), "event": self.event, "subject": self.subject} | dict(
            self.facts
        )

    def line(self) -> str:
        return orjson.dumps(self.document(), option=orjson.OPT_SORT_KEYS).decode()
