"""Hints: what a cluster could still get, per profile it asks for (AvailableCapacity).

Told when the numbers changed, but not more often than the interval, and now and then in any case;
everything again in a new session. Computed from the decision of a cycle, for connected clusters.

One machine that moves changes the numbers of every cluster that could have had it, thousands in a
large fleet: hints are given out at a bounded rate, the longest waiting first, and other frames do
not wait behind them.
"""

from bigfleet.engine.availability import Availability, availability_of
from bigfleet.engine.decision import Decision
from bigfleet.engine.hint_memory import HintMemory
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.session_frames import AvailableCapacityUpdate
from bigfleet.model.token_buckets import TokenBucket
from bigfleet.shard.reconciling.reconciler import Reconciler
from bigfleet.shard.sessions.sessions import Sessions
from bigfleet.shard.settings import CurrentShardSettings

#: An unchanged hint is repeated after this time.
_REFRESH = 300 * SECOND
#: Hints a second, and at once. A frame costs the event loop about 0.1 ms to send, so this is a
#: tenth of it; queueing the most at once takes it about 10 ms.
_PER_SECOND = 1_000
_AT_ONCE = 500


class Hints:
    def __init__(
        self, settings: CurrentShardSettings, sessions: Sessions, reconciler: Reconciler
    ) -> None:
        self._settings = settings
        self._sessions = sessions
        self._reconciler = reconciler
        self._memory = HintMemory()
        self._bucket = TokenBucket(_PER_SECOND, _AT_ONCE)

    def silent_providers(self) -> tuple[str, ...] | None:
        """What availability is computed with; None: no cluster is connected."""
        return tuple(self._reconciler.silent_providers()) if len(self._sessions) else None

    def on_session_lost(self, cluster: str) -> None:
        self._memory.forget(cluster)

    def on_decision(
        self, decision: Decision, at: Instant, availability: Availability | None = None
    ) -> None:
        """Queue the hints that are due; enqueues and nothing else.

        `availability`: of this decision, where it was computed beside the event loop.
        """
        connected = set(self._sessions.clusters())
        if not connected:
            # What was told holds on to the tables of the demand it was told of.
            self._memory = HintMemory()
            return
        if availability is None:
            availability = availability_of(decision.outcome, self._reconciler.silent_providers())
        interval = round(self._settings.now.session.available_capacity_interval * SECOND)
        most = self._bucket.there(at)
        for hint in self._memory.due(availability, connected, at, interval, _REFRESH, most):
            self._bucket.take(at)
            self._sessions.send(
                hint.cluster,
                AvailableCapacityUpdate(
                    hint.profile.fingerprint,
                    hint.profile.requirements,
                    hint.count,
                    hint.confidence,
                    hint.cost,
                ),
            )
