"""Who may act on which machine: now, and after each shard was started again from its disk."""

from collections.abc import Mapping, Set

from bigfleet.model.ownership import Ownership
from bigfleet.shard.coordination.owned_machines import KEY, ownership_of
from bigfleet.shard.effects import COORDINATION
from tests.coordination_laws import laws
from tests.coordination_laws.disk import Disk
from tests.coordination_laws.laws import LawBroken
from tests.coordination_laws.lives import ShardLife
from tests.coordination_laws.provider import Provider, address_of


class Owners:
    """What an ownership comes to is found out once: it never changes."""

    def __init__(self, provider: Provider) -> None:
        self._attributes = {m: provider.attribute(m) for m in provider.shelf}
        self._of_ownership: dict[int, tuple[Ownership, tuple[frozenset[str], frozenset[str]]]] = {}
        self._of_row: dict[tuple[str, bytes | None], Ownership] = {}

    def check(
        self, lives: Mapping[str, ShardLife], disks: Mapping[str, Disk], dead: Set[str]
    ) -> None:
        """Law: of every machine at most one shard may act, whichever process is restarted."""
        owner: dict[str, str] = {}
        for name in disks:
            if name in dead:
                continue
            for machine in self.may_act(name, lives.get(name), disks[name]):
                if machine in owner:
                    text = f"{machine} is {owner[machine]}'s and {name}'s"
                    raise LawBroken(laws.ONE_OWNER, f"{text}: {self._why(lives, disks)}")
                owner[machine] = name

    def of_machine(
        self,
        machine: str,
        lives: Mapping[str, ShardLife],
        disks: Mapping[str, Disk],
        dead: Set[str],
    ) -> set[str]:
        alive = (name for name in disks if name not in dead)
        return {n for n in alive if machine in self.may_act(n, lives.get(n), disks[n])}

    def may_act(self, name: str, life: ShardLife | None, disk: Disk) -> frozenset[str]:
        """Now, or in its next life."""
        later = self.owned(self.kept(disk, name))
        if disk.waiting:
            later |= self.owned(self._read(name, disk.row_soon(COORDINATION, KEY)))
        return later | self.now(life) if life is not None else later

    def now(self, life: ShardLife) -> frozenset[str]:
        return self.owned(life.ownership)

    def kept(self, disk: Disk, name: str) -> Ownership:
        return self._read(name, disk.row(COORDINATION, KEY))

    def owned(self, ownership: Ownership) -> frozenset[str]:
        """In every state of a machine: a List may be late."""
        return self._sets(ownership)[0]

    def free(self, ownership: Ownership) -> frozenset[str]:
        """What it may begin something with."""
        return self._sets(ownership)[1]

    def _sets(self, ownership: Ownership) -> tuple[frozenset[str], frozenset[str]]:
        known = self._of_ownership.get(id(ownership))
        if known is None or known[0] is not ownership:
            sets = [
                frozenset(
                    machine
                    for machine, attribute in self._attributes.items()
                    if ownership.owns(machine, attribute, address_of(machine), occupied=occupied)
                )
                for occupied in (True, False)
            ]
            known = self._of_ownership[id(ownership)] = (ownership, (sets[0], sets[1]))
        return known[1]

    def _read(self, name: str, row: bytes | None) -> Ownership:
        known = self._of_row.get((name, row))
        if known is None:
            known, problem = ownership_of(name, row)
            assert not problem, problem
            self._of_row[name, row] = known
        return known

    def _why(self, lives: Mapping[str, ShardLife], disks: Mapping[str, Disk]) -> str:
        return "; ".join(
            f"{name} has {sorted(self.now(life))} now, "
            f"{sorted(self.owned(self.kept(disks[name], name)))} on disk"
            for name, life in lives.items()
        )
