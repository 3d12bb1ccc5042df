"""What happened, as the driver tells the shard's state: past tense, with its time.

All times are of the shard's own clock, which is set once from the wall at start and never jumps.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

from bigfleet.model.machines import Instant
from bigfleet.model.provider_calls import Ack, MachineRecord, Rejected
from bigfleet.model.rollups import Rollup, RollupRefused
from bigfleet.model.session_frames import BootstrapResponse, Hello, ReclaimAck
from bigfleet.shard.instructions import CallProvider

L = TypeVar("L")


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """A stream said Hello. Numbers grow and are never used twice."""

    session: int
    hello: Hello
    peer: str
    at: Instant


@dataclass(frozen=True, slots=True)
class HelloRepeated:
    session: int
    hello: Hello
    at: Instant


@dataclass(frozen=True, slots=True)
class SessionClosed:
    session: int
    at: Instant


@dataclass(frozen=True, slots=True)
class RollupArrived:
    session: int
    rollup: Rollup | RollupRefused
    at: Instant


@dataclass(frozen=True, slots=True)
class BlobArrived:
    session: int
    response: BootstrapResponse
    at: Instant


@dataclass(frozen=True, slots=True)
class ReclaimAcked:
    session: int
    ack: ReclaimAck
    at: Instant


@dataclass(frozen=True, slots=True)
class ListArrived(Generic[L]):
    provider: str
    listing: L
    #: Without cursor: what is missing from it is missing.
    whole: bool
    started: Instant
    at: Instant


@dataclass(frozen=True, slots=True)
class ListFailed:
    provider: str
    problem: Rejected
    at: Instant


@dataclass(frozen=True, slots=True)
class CallAnswered:
    """A provider's answer: an Ack to a mutation, a record to a Get, or why not."""

    call: CallProvider
    answer: Ack | MachineRecord | Rejected
    at: Instant
