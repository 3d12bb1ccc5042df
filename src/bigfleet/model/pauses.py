"""Pauses: who stopped which actions, why, and until when.

A scope is AND between its fields and OR inside one; an all-empty scope is everything.
"""

from dataclasses import dataclass
from enum import IntEnum

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Instant
from bigfleet.model.syntax import who_text


class PauseSource(IntEnum):
    FLAG = 1
    FILE = 2
    RPC = 3
    COORDINATOR = 4


@dataclass(frozen=True, slots=True)
class PauseScope:
    shard_ids: tuple[str, ...] = ()
    cluster_ids: tuple[str, ...] = ()
    kinds: tuple[ActionKind, ...] = ()
    rebalance_only: bool = False

    @property
    def everything(self) -> bool:
        return not (self.shard_ids or self.cluster_ids or self.kinds or self.rebalance_only)

    def covers(self, shard_id: str, cluster: str, kind: ActionKind) -> bool:
        return (
            not self.rebalance_only
            and (not self.shard_ids or shard_id in self.shard_ids)
            and (not self.cluster_ids or cluster in self.cluster_ids)
            and (not self.kinds or kind in self.kinds)
        )


@dataclass(frozen=True, slots=True)
class Pause:
    pause_id: str
    source: PauseSource
    scope: PauseScope = PauseScope()
    owner: str = ""
    reason: str = ""
    created_at: Instant = 0
    #: None: until it is lifted.
    expires_at: Instant | None = None
    #: The certificate name of who asked, where there was one.
    created_by: str = ""
    #: None: it is in force.
    ended_at: Instant | None = None
    #: Who lifted it and why, or that it expired.
    ended: str = ""

    @property
    def who(self) -> str:
        """Who paused: what they say of themselves beside what their certificate says."""
        if not (self.owner or self.created_by):
            return ""
        return who_text(self.owner, self.created_by)


#: How a pause ended that was not lifted.
EXPIRED = "expired"


def lifted_text(who: str, reason: str) -> str:
    """How a pause ended that a person lifted."""
    by = f"lifted by {who}" if who else "lifted"
    return f"{by}: {reason}" if reason else by


def scope_text(scope: PauseScope) -> str:
    """`everything`, or `Reclaim of cluster shop`."""
    if scope.everything:
        return "everything"
    if scope.rebalance_only:
        return "rebalancing"
    kinds = " and ".join(kind.label for kind in scope.kinds) or "every action"
    parts = [kinds]
    if scope.cluster_ids:
        parts.append(f"of cluster {' and '.join(scope.cluster_ids)}")
    if scope.shard_ids:
        parts.append(f"on {' and '.join(scope.shard_ids)}")
    return " ".join(parts)
