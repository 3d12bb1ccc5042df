"""What the tour asks to be done: through the doors that people have too."""

from dataclasses import dataclass

from bigfleet.model.needs import NeedKey
from bigfleet.sim.demand import Asked


@dataclass(frozen=True, slots=True)
class AskFor:
    """The clusters run this and nothing else; the living script stands still meanwhile."""

    demand: tuple[Asked, ...]


@dataclass(frozen=True, slots=True)
class GiveDemandBack:
    """The living script goes on."""


@dataclass(frozen=True, slots=True)
class SimVerb:
    """A verb of the simulated provider; its answer is told by the name of the verb."""

    verb: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StopShard:
    pass


@dataclass(frozen=True, slots=True)
class StartShard:
    """Does nothing where it runs."""


@dataclass(frozen=True, slots=True)
class SendEmptyRollup:
    cluster: str


@dataclass(frozen=True, slots=True)
class AskWhy:
    """What stands in the way of a Need, and what would satisfy it: `why` and `counterfactual`."""

    need: NeedKey


@dataclass(frozen=True, slots=True)
class AskWhatIf:
    """A zone is lost: `what-if`."""

    zone: str


@dataclass(frozen=True, slots=True)
class AskReplay:
    """The last so many seconds of the journal, decided again: `replay`."""

    seconds: float


Instruction = (
    AskFor
    | GiveDemandBack
    | SimVerb
    | StopShard
    | StartShard
    | SendEmptyRollup
    | AskWhy
    | AskWhatIf
    | AskReplay
)
WHY, COUNTERFACTUAL, WHAT_IF, REPLAY = "why", "counterfactual", "what-if", "replay"


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A question that was refused, with the reason."""

    text: str


@dataclass(frozen=True, slots=True)
class ReplayAnswer:
    cycles: int
    identical: int
    #: Cycles the journal says it lacks.
    missing: int
    #: `1:18231`.
    first: str = ""
    last: str = ""
