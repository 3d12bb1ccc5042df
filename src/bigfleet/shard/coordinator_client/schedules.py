"""When the next report goes out and to whom, and whether a sync follows it. Pure: time and chance
are arguments.

At once, then every interval; the replica that answered is asked again. One that names a leader is
left for it at once, and a round that finds no leader ends in a rest. A failure goes on to the next
address after a rest that doubles from one failure to the next.

A coordinator that knows no SyncShard is asked again rarely: it may have been replaced by one that
does, and until then the shard goes on with what it owns by its own setting.
"""

from collections.abc import Sequence

from bigfleet.model.backoffs import Backoff
from bigfleet.model.coordination import SyncReply
from bigfleet.model.coordinator_calls import NotLeader
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_views import CoordinatorLink
from bigfleet.shard.settings import CurrentShardSettings

#: Shards that were started together do not report together: a tenth either way.
_JITTER = 0.1


class ReportSchedule:
    def __init__(
        self, addresses: Sequence[str], settings: CurrentShardSettings, at: Instant
    ) -> None:
        assert addresses, "without an address of a coordinator there is nothing to report to"
        self._addresses = tuple(addresses)
        self._settings = settings
        self._place = 0
        #: Named by another replica; empty: ask in turn.
        self._leader = ""
        #: Answers in a row of those who do not lead, and failures in a row.
        self._hops = 0
        self._failures = 0
        self._last_report_at: Instant | None = None
        self._last_error = ""
        self.due: Instant = at

    @property
    def address(self) -> str:
        """Whom to ask next."""
        return self._leader or self._addresses[self._place]

    @property
    def addresses(self) -> tuple[str, ...]:
        """All addresses that may be asked soon."""
        return (*self._addresses, self._leader) if self._leader else self._addresses

    def link(self, term: int) -> CoordinatorLink:
        connected = self._last_report_at is not None and not (self._failures or self._hops)
        return CoordinatorLink(
            self.address, connected, self._last_report_at, term, self._last_error
        )

    def on_answered(
        self, at: Instant, chance: float, complaint: str = "", soon: float | None = None
    ) -> None:
        """A leader took the report; `complaint`: what is wrong all the same; `soon`: seconds after
        which it wants to hear again, if that is before the usual time."""
        self._hops = self._failures = 0
        self._last_report_at, self._last_error = at, complaint
        self.due = at + _jittered(self._settings.now.report.interval, chance)
        if soon is not None:
            self.due = min(self.due, at + round(soon * SECOND))

    def on_rejected(self, problem: Rejected, at: Instant, chance: float) -> None:
        self._last_error = f"{self.address}: {problem}"
        if problem.code is not Code.FAILED_PRECONDITION:
            self._failures += 1
            self._ask_another()
            self.due = at + self._rest(chance)
            return
        self._hops += 1
        if isinstance(problem, NotLeader):
            self._leader = problem.leader
        else:
            self._ask_another()
        if self._hops <= len(self._addresses):
            self.due = at
            return
        self._hops = 1
        self._failures += 1
        self.due = at + self._rest(chance)

    def _ask_another(self) -> None:
        """Not the one that named a leader that does not answer: it may name it for ever."""
        self._leader = ""
        self._place = (self._place + 1) % len(self._addresses)

    def _rest(self, chance: float) -> int:
        report = self._settings.now.report
        rests = Backoff(report.backoff_min, report.backoff_max)
        return _jittered(rests.seconds(self._failures), chance)


def _jittered(seconds: float, chance: float) -> int:
    return round(seconds * (1 - _JITTER + 2 * _JITTER * chance) * SECOND)


#: Between two tries at a coordinator that does not know the call.
ASK_AGAIN = 600 * SECOND
#: However soon a coordinator wants to hear again, it is not asked in a tight loop.
SHORTEST_MILLIS = 20


class SyncSchedule:
    def __init__(self) -> None:
        #: Until then no sync is tried: the coordinator lacks the call. None: it may have it.
        self._unknown_until: Instant | None = None
        #: The coordinator has lost its memory and asks what every shard holds.
        self.merging = False
        self._soon_millis = 0

    def is_due(self, at: Instant) -> bool:
        return self._unknown_until is None or at >= self._unknown_until

    @property
    def soon_seconds(self) -> float | None:
        """When to report again; None: at the usual time."""
        if not self._soon_millis:
            return None
        return max(SHORTEST_MILLIS, self._soon_millis) / 1000

    def on_report(self) -> None:
        """A wish for haste is good for one report."""
        self._soon_millis = 0

    def on_reply(self, reply: SyncReply) -> None:
        self._unknown_until = None
        self.merging = reply.merging
        self._soon_millis = max(0, reply.next_sync_millis)

    def on_unknown(self, at: Instant) -> bool:
        """The coordinator does not know the call; True: that is news."""
        news = self._unknown_until is None
        self._unknown_until = at + ASK_AGAIN
        self.merging = False
        return news
