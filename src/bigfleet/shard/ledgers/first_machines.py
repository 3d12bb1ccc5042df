"""How long new demand waits for its first machine.

Time runs from the first roll-up that had a (cluster, fingerprint) to the first machine Configured
for it. What goes away, or turns out to be covered by machines that are there, is not measured: its
growth a week later is not a latency of a week. A new start of the shard sees everything anew, so
what was under way then is measured from the start.
"""

from collections.abc import Sequence
from typing import NamedTuple

from bigfleet.edge.counts import SLOW
from bigfleet.engine.awaited import awaiting_in
from bigfleet.engine.decision import Decision
from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.shard.effects import Effects


class _Pair(NamedTuple):
    cluster: str
    fingerprint: str


class FirstMachines:
    def __init__(self, effects: Effects) -> None:
        self._counts = effects.counts
        #: Fingerprints of the demand in force, by cluster.
        self._known: dict[str, frozenset[str]] = {}
        #: When a pair was first seen; all and only pairs that may still wait for their first
        #: machine.
        self._since: dict[_Pair, Instant] = {}
        #: Those of them the running cycle does not know.
        self._fresh: set[_Pair] = set()
        #: Those of them a decision found waiting, by what their machines will be stamped with.
        self._expecting: dict[_Pair, list[_Pair]] = {}

    def __len__(self) -> int:
        return len(self._since)

    def on_demand(self, cluster: str, needs: Sequence[Need], at: Instant) -> None:
        """The cluster's whole demand from here on."""
        known = self._known.pop(cluster, frozenset())
        now = frozenset([need.profile.fingerprint for need in needs])
        if now:
            self._known[cluster] = now
        for fingerprint in known - now:
            pair = _Pair(cluster, fingerprint)
            self._since.pop(pair, None)
            self._fresh.discard(pair)
        for fingerprint in now - known:
            pair = _Pair(cluster, fingerprint)
            self._since[pair] = at
            self._fresh.add(pair)

    def on_cycle_begun(self) -> None:
        self._fresh.clear()

    def on_decision(self, decision: Decision) -> None:
        """Demand that does not wait any more got its machines without one being configured."""
        self._expecting = {}
        judged = self._since.keys() - self._fresh
        if not judged:
            return
        waiting = set[_Pair]()
        for cluster, fingerprint, stamped in awaiting_in(decision, {p.cluster for p in judged}):
            pair = _Pair(cluster, fingerprint)
            if pair in judged:
                waiting.add(pair)
                self._expecting.setdefault(_Pair(cluster, stamped), []).append(pair)
        for pair in judged - waiting:
            del self._since[pair]

    def on_change(self, before: Machine | None, after: Machine | None, at: Instant) -> None:
        if before is None or after is None or after.state is not MachineState.CONFIGURED:
            return
        if before.state is MachineState.CONFIGURED:
            return
        stamp = _Pair(after.cluster, after.assigned.need_fingerprint)
        for pair in self._expecting.pop(stamp, ()):
            since = self._since.pop(pair, None)
            if since is not None:
                seconds = max(0, at - since) / SECOND
                self._counts.observe("provisioning_latency_seconds", seconds, SLOW)
