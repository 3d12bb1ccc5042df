"""What each call answers in each state, and in which order a provider checks a mutation.

A row of the suite names the cells it judges; `contract_page` makes of rows and cells the table that
provider authors read.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from bigfleet.model.machines import MachineState as S


class ExpectedAnswer(StrEnum):
    STARTS = "OK, a new operation"
    REPEATS = "OK, the same operation"
    AT_TARGET = "OK, the same operation; if none is recorded, OK or rejected"
    REJECTED = "rejected"
    READS = "OK"
    NOT_FOUND = "NOT_FOUND"
    UNKNOWN = "NOT_FOUND, or UNIMPLEMENTED"
    EMPTY = "INVALID_ARGUMENT"
    STALE = "FAILED_PRECONDITION"


#: Beside the states a machine can be in: what else a call may meet.
UNKNOWN_ID, EMPTY_ID, STALE_TOKEN = "unknown id", "empty id", "stale token"


@dataclass(frozen=True, slots=True)
class Cell:
    rpc: str
    #: A state, or one of the three above.
    place: str
    answer: ExpectedAnswer


class Check(StrEnum):
    """The checks of a mutation, in their order."""

    ARGUMENTS = "arguments"
    CAPABILITY = "capability"
    FENCE = "fence"
    EXISTENCE = "existence"
    IDEMPOTENCY = "idempotency"
    POSITION = "position"
    ADMISSION = "admission"
    ACCEPT = "accept"


@dataclass(frozen=True, slots=True)
class CheckRule:
    check: Check
    asks: str
    code: str
    afterwards: str


CHECKS: tuple[CheckRule, ...] = (
    CheckRule(
        Check.ARGUMENTS,
        "Is the request whole? An empty id; a negative grace; metadata or a blob above the cap",
        "INVALID_ARGUMENT (a blob also RESOURCE_EXHAUSTED)",
        "nothing changes, no mark moves",
    ),
    CheckRule(
        Check.CAPABILITY,
        "Can this provider delete at all?",
        "UNIMPLEMENTED, for every id and token",
        "nothing changes, no mark moves",
    ),
    CheckRule(
        Check.FENCE,
        "Is the token newer than the mark of this shard on this machine?",
        "FAILED_PRECONDITION, and for nothing else",
        "a token that passes moves the mark, also if the call fails after that",
    ),
    CheckRule(Check.EXISTENCE, "Is there such a machine?", "NOT_FOUND", "no record is made"),
    CheckRule(
        Check.IDEMPOTENCY,
        "Is the machine already there, or on its way, by an operation of this kind?",
        "OK with the original operation_id",
        "no work is started",
    ),
    CheckRule(
        Check.POSITION,
        "Is the machine in the state this call starts from?",
        "rejected: ABORTED or INTERNAL",
        "state and binding stay",
    ),
    CheckRule(
        Check.ADMISSION,
        "Is the substrate known to be unable now? Stock-out, quota",
        "RESOURCE_EXHAUSTED",
        "the machine stays in its stable state",
    ),
    CheckRule(
        Check.ACCEPT,
        "None is left",
        "OK with a new operation_id; UNAVAILABLE where it cannot be stored",
        "durable before the answer; the work runs in the background",
    ),
)

_EDGES = {
    "Create": (S.SPECULATIVE, S.CREATING, S.IDLE),
    "Configure": (S.IDLE, S.CONFIGURING, S.CONFIGURED),
    "Drain": (S.CONFIGURED, S.DRAINING, S.IDLE),
    "Delete": (S.IDLE, S.DELETING, S.SPECULATIVE),
}
MUTATIONS = tuple(_EDGES)
RPCS = (*MUTATIONS, "Get")
PLACES = (*(state.name for state in S if state), UNKNOWN_ID, EMPTY_ID, STALE_TOKEN)


def on(rpc: str, *places: S | str) -> tuple[Cell, ...]:
    """What the contract says of a call there."""
    names = [place.name if isinstance(place, S) else place for place in places]
    found = ((name, answer_of(rpc, name)) for name in names)
    return tuple(Cell(rpc, name, answer) for name, answer in found if answer is not None)


def each(rpcs: Iterable[str], *places: S | str) -> tuple[Cell, ...]:
    return tuple(cell for rpc in rpcs for cell in on(rpc, *places))


def answer_of(rpc: str, place: str) -> ExpectedAnswer | None:
    """None: there is no such case."""
    match rpc, place:
        case ("Get", "stale token"):
            return None
        case ("Delete", "unknown id"):
            return ExpectedAnswer.UNKNOWN
        case (_, "unknown id"):
            return ExpectedAnswer.NOT_FOUND
        case (_, "empty id"):
            return ExpectedAnswer.EMPTY
        case (_, "stale token"):
            return ExpectedAnswer.STALE
        case ("Get", _):
            return ExpectedAnswer.READS
    source, passing, target = _EDGES[rpc]
    if place == source.name:
        return ExpectedAnswer.STARTS
    if place == passing.name:
        return ExpectedAnswer.REPEATS
    return ExpectedAnswer.AT_TARGET if place == target.name else ExpectedAnswer.REJECTED
