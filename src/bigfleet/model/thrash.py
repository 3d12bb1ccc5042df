"""Thrash: machines that go back and forth, preemptions that repeat, and the trace that shows it."""

from dataclasses import dataclass
from enum import IntEnum

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Instant
from bigfleet.model.needs import NeedKey
from bigfleet.model.resources import Resources


class ThrashKind(IntEnum):
    UNSPECIFIED = 0
    #: A machine left a (cluster, profile) and came back to it within the dwell time.
    RETURN = 1
    #: A machine went from one cluster to another and back.
    PING_PONG = 2
    #: Preemptions that caused each other, more of them than a chain may have.
    CHAIN = 3
    #: An offering was released and bought again within the time its idle machines are kept.
    REBUY = 4
    #: A Need preempted again although its earlier victims cover what it lacks.
    REPEATED = 5

    @property
    def label(self) -> str:
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True, slots=True)
class TraceAction:
    """An action that was carried out, with everything a finding may depend on."""

    cycle: int
    #: In order of emission.
    index: int
    kind: ActionKind
    machine: str
    #: When it began.
    at: Instant
    #: Which cluster and Need get the machine (Bootstrap, Provision) or lose it (Reclaim, Preempt);
    #: of a Delete: which had it last, empty where that is not known.
    cluster: str = ""
    fingerprint: str = ""
    group: str = ""
    #: When it was seen complete; None: not yet, or it does not matter (Bootstrap, Provision).
    done_at: Instant | None = None
    #: Of the Need that gets the machine, or that preempts it.
    priority: int = 0
    #: `provider/type/zone/capacityType` of the machine.
    offering: str = ""
    #: How long an idle machine of that offering is kept before it is released; 0: for ever.
    hold_seconds: float = 0.0
    #: Of a Preempt: which Need it is for.
    preemptor: NeedKey | None = None
    #: Of a Preempt: what the machine gives, and what its Need lacked when this was decided.
    frees: Resources = Resources()
    deficit: Resources = Resources()
    #: Of a Preempt for a gang: the domain that the gang has chosen.
    domain: str = ""

    @property
    def name(self) -> str:
        return f"action/{self.cycle}.{self.index}"

    @property
    def holder(self) -> NeedKey:
        return NeedKey(self.cluster, self.fingerprint, self.group)


@dataclass(frozen=True, slots=True)
class ThrashFinding:
    """One kind of thrash of one (cluster, profile), and how often it was seen."""

    #: Ascending, never used again.
    number: int
    kind: ThrashKind
    cluster: str
    fingerprint: str
    #: Object name of the machine, offering or Need it was first seen of.
    subject: str
    #: What was seen first, as a sentence.
    text: str
    first_at: Instant
    last_at: Instant
    times: int = 1
    #: Until when Reclaims and Deletes of the (cluster, profile) are held; None: they are not.
    held_until: Instant | None = None
    #: The shortest trace that shows it, in order: it shows the same when it is replayed alone.
    witness: tuple[TraceAction, ...] = ()
