"""Which drains there are, and which may be about a Node, a machine or an entry.

Found without asking every drain: a cluster that shrinks has thousands of them open at once, and
every Node and every pod asks.
"""

from collections.abc import Collection, Iterator

from bigfleet.model.machines import Instant
from bigfleet.operator.drain import Drain
from bigfleet.operator.node_map import NodeMap, NodeNames


class DrainIndex:
    def __init__(self) -> None:
        self._by_node, self._by_machine, self._by_entry = NodeNames(), NodeNames(), NodeNames()
        #: Where each drain is noted: its Nodes, machines and entries.
        self._noted: dict[str, tuple[frozenset[str], frozenset[str], frozenset[str]]] = {}

    def note(
        self,
        drain: str,
        nodes: Collection[str],
        machines: Collection[str],
        entries: Collection[str],
    ) -> None:
        """What it is about now; what it was about before is forgotten."""
        noted = frozenset(nodes), frozenset(machines), frozenset(entries)
        if noted == self._noted.get(drain):
            return
        self.forget(drain)
        self._noted[drain] = noted
        for index, names in zip(self._indexes, noted, strict=True):
            for name in names:
                index.add(name, drain)

    def forget(self, drain: str) -> None:
        for index, names in zip(self._indexes, self._noted.pop(drain, ((),) * 3), strict=True):
            for name in names:
                index.discard(name, drain)

    def about(
        self, *, node: str = "", machine: str = "", entries: Collection[str] = ()
    ) -> set[str]:
        """Ids of drains that are about any of these; an empty name matches none."""
        found = {*self._by_node.of(node), *self._by_machine.of(machine)}
        for entry in entries:
            found.update(self._by_entry.of(entry))
        return found

    @property
    def _indexes(self) -> tuple[NodeNames, NodeNames, NodeNames]:
        return self._by_node, self._by_machine, self._by_entry


class KnownDrains:
    """Open and ended ones the shard has not gone on from."""

    def __init__(self) -> None:
        self._by_id: dict[str, Drain] = {}
        #: Of all of them, as they last looked around.
        self._index = DrainIndex()
        self._number = 0

    def __iter__(self) -> Iterator[Drain]:
        """Those there are now; some may be forgotten on the way."""
        return iter(list(self._by_id.values()))

    def __contains__(self, drain: Drain) -> bool:
        return drain.id in self._by_id

    def get(self, instruction_id: str) -> Drain | None:
        return self._by_id.get(instruction_id)

    def add(
        self, instruction_id: str, entries: Collection[str], deadline: Instant, grace_seconds: float
    ) -> Drain:
        self._number += 1
        machines = dict.fromkeys(entries, "")
        drain = Drain(instruction_id, machines, deadline, grace_seconds, self._number)
        self._by_id[instruction_id] = drain
        self.note(drain)
        return drain

    def note(self, drain: Drain) -> None:
        """It has looked around, and may be about others now."""
        self._index.note(drain.id, drain.nodes, drain.machines, drain.machine_of_entry)

    def forget(self, drain: Drain) -> None:
        del self._by_id[drain.id]
        self._index.forget(drain.id)

    def about(
        self, node: str = "", machine: str = "", entries: Collection[str] = ()
    ) -> list[Drain]:
        """The oldest first."""
        found = self._index.about(node=node, machine=machine, entries=entries)
        return sorted((self._by_id[i] for i in found), key=lambda drain: drain.number)

    def of_machine(self, machine: str, nodes: NodeMap) -> list[Drain]:
        """Those with an entry that is this machine, as far as is known now."""
        found = self.about(machine=machine, entries=nodes.names_of(machine))
        return [drain for drain in found if drain.entries_of(machine, nodes)]

    def mark_of(self, node: str) -> str:
        """The newest about it that this session has told and that was admitted; empty: none."""
        holding = [drain.id for drain in self.about(node) if drain.holds_cordon]
        return holding[-1] if holding else ""
