"""Which drains may be about a Node, a machine or an entry, found without asking every drain.

A cluster that shrinks has thousands of them open at once, and every Node and every pod asks.
"""

from collections.abc import Collection

from bigfleet.operator.node_mapping import Names


class DrainIndex:
    def __init__(self) -> None:
        self._by_node, self._by_machine, self._by_entry = Names(), Names(), Names()
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
        """Ids of drains that are about any of these; an empty name is nobody's."""
        found = {*self._by_node.of(node), *self._by_machine.of(machine)}
        for entry in entries:
            found.update(self._by_entry.of(entry))
        return found

    @property
    def _indexes(self) -> tuple[Names, Names, Names]:
        return self._by_node, self._by_machine, self._by_entry
