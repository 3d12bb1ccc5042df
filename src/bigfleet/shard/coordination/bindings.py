"""Clusters that belong to another shard: refused here, with the address where they are expected.

What the coordinator said last is kept through a restart, and holds until it says otherwise of a
cluster it was asked about. Asked about are clusters that are connected, that report, or that have
just tried to: naming others would bind a cluster here that was meant to go elsewhere.
"""

from collections.abc import Callable, Iterable, Mapping, Set

import msgspec

from bigfleet.model.coordination import ClusterBinding
from bigfleet.shard.effects import COORDINATION, Effects

KEY = "misbound"


class Bindings:
    def __init__(
        self,
        effects: Effects,
        served: Callable[[], Set[str]],
        send_away: Callable[[str, str], None],
    ) -> None:
        """`served`: clusters connected or heard of; `send_away` ends what one has here."""
        self._effects = effects
        self._served = served
        self._send_away = send_away
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
        """Whom the next sync asks about."""
        return tuple(sorted(self._served() | self._tried))

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
            self._send_away(each.cluster, f"{text}; connect there")

    def _after(
        self, misbound: Iterable[ClusterBinding], asked: Iterable[str]
    ) -> dict[str, ClusterBinding]:
        kept = {n: each for n, each in self._elsewhere.items() if n not in frozenset(asked)}
        return kept | {each.cluster: each for each in misbound}
