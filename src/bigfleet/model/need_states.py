"""The four states of a Need: what its machines mean for the pods that asked for them.

`satisfied` on the wire is the engine's word and means planned. People and alerts are told one of
these instead, the same one everywhere.
"""

from enum import IntEnum


class NeedState(IntEnum):
    """Numbers are those of the wire."""

    #: Its machines are Configured, their Nodes usable where the cluster reports them, and none of
    #: its pods is stuck.
    MET = 1
    #: What it lacks is on its way and moving.
    ARRIVING = 2
    #: Planned, but held back: the reason says by what, since when, and what lifts it.
    BLOCKED = 3
    #: There is no supply for it, even with every hold lifted.
    SHORT = 4

    @property
    def label(self) -> str:
        return self.name.lower()
