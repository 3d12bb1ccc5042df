"""Whether an instruction is a preemption, or gives back an unclaimed machine.

A preemption names the priority it makes way for, but 0 is a priority too: an instruction that names
0 is a preemption only if the shard says so in its answer to a report. So such an instruction waits
for an answer that was asked for after it came. Where the shard does not answer reports, nothing is
known, and the caller lets every instruction go on as it comes.
"""

from collections.abc import Collection

from bigfleet.model.cluster_reports import STALE_AFTER
from bigfleet.model.machines import Instant


class ReclaimKinds:
    """Of the instructions of one session."""

    def __init__(self) -> None:
        #: When the last answer came, or the session began; None: disconnected.
        self._heard_at: Instant | None = None
        #: When the last answer was asked for.
        self._asked_at: Instant | None = None
        self._is_unanswered = False
        self._preemptions: frozenset[str] = frozenset()

    def on_connected(self, at: Instant) -> None:
        self.on_disconnected()
        self._heard_at = at

    def on_disconnected(self) -> None:
        self._heard_at = self._asked_at = None
        self._is_unanswered = False
        self._preemptions = frozenset()

    def on_reply(self, preemptions: Collection[str], asked_at: Instant, at: Instant) -> None:
        """`preemptions`: ids of the open instructions that are preemptions."""
        if self._heard_at is not None:
            self._heard_at, self._asked_at, self._is_unanswered = at, asked_at, False
            self._preemptions = frozenset(preemptions)

    def on_unknown(self) -> None:
        """The shard does not know such reports."""
        self._is_unanswered = True

    def is_silent(self, at: Instant) -> bool:
        """Whether the shard does not answer reports, or has stopped to."""
        heard = self._heard_at
        return self._is_unanswered or (heard is not None and at - heard >= STALE_AFTER)

    def is_known(self, since: Instant) -> bool:
        """Whether the kind of an instruction that came then can be told."""
        return self._asked_at is not None and self._asked_at >= since

    def is_preemption(self, instruction_id: str) -> bool:
        """As far as is known."""
        return instruction_id in self._preemptions
