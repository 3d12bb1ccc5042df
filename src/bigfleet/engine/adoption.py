"""Adoption: what becomes of a known machine when its provider's List says something else.

The provider wins on state. Binding and stamp stay with a machine that goes on for the same cluster
(the shard's own stamp is newer than the one the provider echoes) and end with Idle and Speculative.
A machine with an action under way keeps its state and takes over only what does not depend on it.
Nothing is refused here: a List is a sample, and states in between may have been missed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np

from bigfleet.engine.columns import MachineColumns
from bigfleet.engine.kernels.compiled import Bools, Int32s
from bigfleet.model.batches import NEVER, Offering
from bigfleet.model.machines import Instant, MachineState

_UNBOUND = (MachineState.IDLE, MachineState.SPECULATIVE)


@dataclass(frozen=True, slots=True)
class StateChange:
    """A machine whose state or cluster is another than before."""

    machine: str
    before: MachineState
    after: MachineState
    cluster_before: str = ""
    cluster_after: str = ""


@dataclass(frozen=True, slots=True)
class AdoptedBatch:
    """What a batch changed."""

    new: tuple[str, ...] = ()
    steps: tuple[StateChange, ...] = ()
    #: Machines by the field that is another now, beside state and cluster.
    refreshed: Mapping[str, int] = field(default_factory=dict)
    #: Known from another source; left as they were.
    foreign: tuple[str, ...] = ()

    @property
    def nothing(self) -> bool:
        return not (self.new or self.steps or self.refreshed)


def adopted_columns(
    before: MachineColumns, listed: MachineColumns, busy: Bools, now: Instant | None
) -> MachineColumns:
    """Rows of known machines as they are now; `busy` ones keep their state."""
    moves = (listed.state != before.state) & ~busy
    unbound = np.isin(listed.state, _UNBOUND)
    cluster = np.where(unbound, np.int32(-1), listed.cluster)
    stamp = np.where(cluster == before.cluster, before.stamp, listed.stamp)
    stamp = np.where(unbound, np.int32(0), stamp)
    idle = listed.state == MachineState.IDLE
    since = np.where(idle, np.int64(NEVER if now is None else now), np.int64(NEVER))
    cluster = np.where(busy, before.cluster, cluster)
    return MachineColumns(
        state=np.where(busy, before.state, listed.state),
        offering=listed.offering,
        cluster=cluster,
        stamp=np.where(busy, before.stamp, stamp),
        provider=np.where(busy, before.provider, listed.provider),
        idle_since=np.where(moves, since, before.idle_since),
        held=np.where(moves, np.int8(0), before.held),
        overdue=before.overdue & ~moves,
        node_name=listed.node_name,
        source=listed.source,
        empty=before.empty & ~moves & (cluster == before.cluster),
    )


def as_new(listed: MachineColumns, now: Instant | None) -> MachineColumns:
    """Rows of unknown machines; Idle counts from now on where the batch does not say."""
    unknown = (listed.state == MachineState.IDLE) & (listed.idle_since == NEVER)
    since = np.int64(NEVER if now is None else now)
    return replace(listed, idle_since=np.where(unknown, since, listed.idle_since))


def fields_changed(offerings: Sequence[Offering], before: Int32s, after: Int32s) -> "Counter[str]":
    """How many machines have another price, another label and so on."""
    pairs, count = np.unique(np.stack((before, after)), axis=1, return_counts=True)
    changed: Counter[str] = Counter()
    for (old, new), machines in zip(pairs.T.tolist(), count.tolist(), strict=True):
        for part in fields(Offering) if old != new else ():
            if getattr(offerings[old], part.name) != getattr(offerings[new], part.name):
                changed[part.name] += machines
    return changed


def steps_of(
    ids: Sequence[str], clusters: Sequence[str], before: MachineColumns, after: MachineColumns
) -> tuple[StateChange, ...]:
    names = [*clusters, ""]
    return tuple(
        StateChange(
            machine,
            MachineState(int(before.state[i])),
            MachineState(int(after.state[i])),
            names[before.cluster[i]],
            names[after.cluster[i]],
        )
        for i, machine in enumerate(ids)
    )
