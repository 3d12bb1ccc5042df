"""The broker for one proposal at a time, around the commit step of the engine.

The queue of a cycle is committed by `kernels.broker.commit_queue`, whose cursors are these sequence
numbers; here the same step has names. A proposal is atomic: it commits as a whole or changes
nothing. Pass a lock where threads propose.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from bigfleet.engine.decision import Mode
from bigfleet.engine.kernels.broker import CONFLICT, commit
from bigfleet.engine.vocabulary import packed_precedence
from bigfleet.model.machines import MachineState

NO_NEED = -1


class Bucket(NamedTuple):
    """The candidates one kind of proposal draws from; each bucket counts its own commits."""

    state: MachineState
    fingerprint: str
    same_key: str = ""
    same_value: str = ""


class Status(Enum):
    COMMITTED = "committed"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class DisplacedNeed:
    """A Need that lost machines; with a budget of zero it must not be queued again."""

    need: int
    budget: int


@dataclass(frozen=True, slots=True)
class Result:
    status: Status
    #: The bucket's sequence number after the proposal.
    new_seq: int
    committed: tuple[int, ...] = ()
    displaced: tuple[DisplacedNeed, ...] = ()


class Broker:
    def __init__(
        self,
        machines: int,
        precedence_of_need: Sequence[tuple[int, int, int]],
        budget_of_need: Sequence[int],
        lock: AbstractContextManager[object] | None = None,
    ) -> None:
        self._lock: AbstractContextManager[object] = lock or nullcontext()
        self._holder = np.full(machines, NO_NEED, np.int32)
        self._precedence = np.array([packed_precedence(p) for p in precedence_of_need], np.int64)
        #: Proposals each Need may still make after losing one.
        self._budget = list(budget_of_need)
        self._seq: dict[Bucket, int] = {}
        self._committed = np.empty(machines, np.int32)
        self._displaced = np.empty(machines, np.int32)

    def seq(self, bucket: Bucket) -> int:
        """Commits so far from this bucket: what a proposal must have seen."""
        with self._lock:
            return self._seq.get(bucket, 0)

    def holders(self) -> tuple[int, ...]:
        """The Need that holds each machine, NO_NEED where it is free."""
        with self._lock:
            return tuple(self._holder.tolist())

    def propose(
        self, need: int, machines: Sequence[int], bucket: Bucket, observed_seq: int, mode: Mode
    ) -> Result:
        """Claim distinct `machines` for `need`, unless the bucket moved on since it was observed.

        A machine can be had if it is free or its holder is of strictly lower precedence.
        """
        with self._lock:
            seq = self._seq.get(bucket, 0)
            if observed_seq != seq:
                return Result(Status.CONFLICT, seq)
            count, losers = commit(
                need,
                np.array(machines, np.int32),
                mode is Mode.ALL_OR_NOTHING,
                self._holder,
                self._precedence,
                self._committed,
                self._displaced,
            )
            if count == CONFLICT:
                return Result(Status.CONFLICT, seq)
            self._seq[bucket] = seq + 1
            displaced = tuple(self._charged(n) for n in self._displaced[:losers].tolist())
            committed = tuple(self._committed[:count].tolist())
            return Result(Status.COMMITTED, seq + 1, committed, displaced)

    def _charged(self, need: int) -> DisplacedNeed:
        """Losing machines costs one retry, however many they were."""
        self._budget[need] -= 1
        return DisplacedNeed(need, self._budget[need])
