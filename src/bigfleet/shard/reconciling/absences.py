"""Absences: machines a provider's whole Lists do not name, and for how many Lists in a row.

One List without a machine makes it unseen: no part may take it, drain it or delete it. Only
`absent_lists` of them in a row, each of them believed, make it gone.
"""

from collections.abc import Collection, Iterable


class Absences:
    def __init__(self) -> None:
        #: Believed whole Lists in a row without the machine; 0: missing, but no List was believed.
        self._lists: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._lists)

    def __contains__(self, machine_id: object) -> bool:
        return machine_id in self._lists

    def ids(self) -> Collection[str]:
        return self._lists.keys()

    def lists(self, machine_id: str) -> int:
        """At least 1 for an unseen machine."""
        missed = self._lists.get(machine_id)
        return 0 if missed is None else max(1, missed)

    def missed(self, machine_ids: Iterable[str]) -> None:
        for machine_id in machine_ids:
            self._lists.setdefault(machine_id, 0)

    def seen(self, machine_ids: Iterable[str]) -> list[str]:
        """Which of them were absent."""
        return [name for name in machine_ids if self._lists.pop(name, None) is not None]

    def believe(self) -> None:
        """The last whole List counts."""
        for machine_id in self._lists:
            self._lists[machine_id] += 1

    def doubt(self) -> None:
        """It does not, and breaks the row."""
        for machine_id in self._lists:
            self._lists[machine_id] = 0

    def gone(self, absent_lists: int) -> list[str]:
        return [name for name, missed in self._lists.items() if missed >= absent_lists]
