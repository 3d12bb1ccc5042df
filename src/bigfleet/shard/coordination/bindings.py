"""Clusters that belong to another shard: refused here, with the address where they are expected.

What the coordinator said last is kept through a restart, and holds until it says otherwise of a
cluster it was asked about. Asked about are clusters that are connected, that report, or that have
just tried to: naming others would bind a cluster here that was meant to go elsewhere.
"""

from collections.abc import Iterable, Mapping

import msgspec

from bigfleet.model.coordination import ClusterBinding
from bigfleet.shard.effects import COORDINATION, Effects
from bigfleet.shard.ingest.ingest import Ingest
from bigfleet.shard.sessions.sessions import Sessions

KEY = "misbound"


class Bindings:
    def __init__(self, effects: Effects, sessions: Sessions, ingest: Ingest) -> None:
        self._effects = effects
        self._sessions = sessions
        self._ingest = ingest
        self._elsewhere: dict[str, ClusterBinding] = {}
        #: Clusters that were refused since the last sync.
        self._tried: set[str] = set()

    def __len__(self) -> int:
        return len(self._elsewhere)

    def load(self, rows: Mapping[str, bytes]) -> None:
        row = rows.get(KEY)
        if row is None:
            return
        try:
            known = msgspec.json.decode(row, type=list[ClusterBinding])
        except msgspec.MsgspecError as problem:
            text = f"the stored bindings of clusters cannot be read: {problem}; the next sync helps"
            self._effects.log("warning", "bindings_unreadable", text)
            self._effects.persist(COORDINATION, KEY, None)
            return
        self._elsewhere = {each.cluster: each for each in known}

    def why_elsewhere(self, cluster: str) -> str:
        """The shard it is bound to and its address; empty: it may connect."""
        binding = self._elsewhere.get(cluster)
        if binding is None:
            return ""
        self._tried.add(cluster)
        return f"shard {binding.shard}" + (f" at {binding.address}" if binding.address else "")

    def named(self) -> tuple[str, ...]:
        """Clusters the next sync asks about: those that report, are connected, or tried to."""
        served = {*self._ingest.reported, *self._sessions.clusters()}
        return tuple(sorted(served | self._tried))

    def row_of(self, misbound: Iterable[ClusterBinding], asked: Iterable[str]) -> bytes:
        """What is kept under KEY before `take`."""
        return msgspec.json.encode(list(self._after(misbound, asked).values()))

    def take(self, misbound: Iterable[ClusterBinding], asked: Iterable[str]) -> None:
        after = self._after(misbound, asked)
        news = [each for name, each in after.items() if name not in self._elsewhere]
        for name in self._elsewhere.keys() - after.keys():
            self._effects.log("info", "cluster_bound", f"cluster {name} may connect here now")
        self._elsewhere = after
        self._tried.clear()
        for each in news:
            text = f"cluster {each.cluster} is bound to {self.why_elsewhere(each.cluster)}"
            self._effects.log("warning", "cluster_misbound", text, cluster=each.cluster)
            self._sessions.send_away(each.cluster, f"{text}; connect there")
            self._ingest.forget(each.cluster)

    def _after(
        self, misbound: Iterable[ClusterBinding], asked: Iterable[str]
    ) -> dict[str, ClusterBinding]:
        kept = {n: each for n, each in self._elsewhere.items() if n not in frozenset(asked)}
        return kept | {each.cluster: each for each in misbound}
