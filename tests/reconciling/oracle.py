"""The obvious reconciler: whole records are kept and compared, every machine is looked at, one by
one. Slow, and for shards whose guards are off."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bigfleet.model.machines import (
    Assigned,
    Host,
    Instant,
    Machine,
    MachineState,
    broken_invariants,
)
from bigfleet.model.metadata import decode
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.model.resources import Resources
from tests.reconciling.rig import CONFIGURED, CONFIGURING, DRAINING, FAILED, IDLE, SPECULATIVE

ABSENT_LISTS = 2


def said_by(record: MachineRecord) -> Machine | None:
    """What a record says, None where it cannot be."""
    said = Machine(
        id=record.id,
        state=record.state,
        capacity_type=record.capacity_type,
        host=record.host or Host(),
        cluster="" if record.state is IDLE else record.cluster,
        instance_type=record.instance_type,
        zone=record.zone,
        labels={"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"} | dict(record.labels),
        resources=Resources.parse_leniently(record.resources),
        allocatable=Resources.parse_leniently(record.allocatable),
        price_per_hour=record.price_per_hour,
        interruption_probability=record.interruption_probability,
        last_error=record.last_error if record.state is FAILED else "",
        assigned=decode(record.shard_metadata, Assigned())[0],
    )
    if said.state in (IDLE, SPECULATIVE):
        said = replace(said, assigned=Assigned())
    return None if broken_invariants(said) else said


@dataclass
class Oracle:
    machines: dict[str, Machine] = field(default_factory=dict)
    changed_at: dict[str, Instant] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    missed: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, Machine] = field(default_factory=dict)
    #: What was read last; saying the same again is not news.
    last: dict[str, MachineRecord] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)

    def local(self, machine: Machine, at: Instant) -> None:
        self.machines[machine.id] = machine
        self.changed_at[machine.id] = at
        self.touched.add(machine.id)

    def asks(self) -> None:
        """A List is asked for: of what the shard has changed by now, everything said is news."""
        for name in self.touched:
            self.last.pop(name, None)
        self.touched.clear()

    def lists(self, records: Sequence[MachineRecord], started: Instant, *, whole: bool) -> None:
        named = {record.id: record for record in reversed(records)}
        for name in named:
            self.missed.pop(name, None)
        if whole:
            self._miss(set(named), started)
        news = {name: r for name, r in named.items() if self.last.get(name) != r}
        self.last |= named
        sound = {name: said for name, r in news.items() if (said := said_by(r)) is not None}
        waiting, self.waiting = self.waiting, {}
        for name, said in (waiting | sound).items():
            # What waited is over when anything newer was said, be it as bad as it may.
            if name in sound or not (name in news or name in self.missed):
                self._look(said, started)

    def _miss(self, named: set[str], started: Instant) -> None:
        for name in set(self.machines) - named:
            self.missed[name] = self.missed.get(name, 0) + 1
            self.last.pop(name, None)
            if self.missed[name] >= ABSENT_LISTS and not self._is_ahead(name, started):
                del self.machines[name], self.missed[name]
                self.changed_at.pop(name, None)
                self.waiting.pop(name, None)

    def _is_ahead(self, name: str, started: Instant) -> bool:
        return name in self.pending or self.changed_at.get(name, started - 1) >= started

    def _look(self, said: Machine, started: Instant) -> None:
        before = self.machines.get(said.id)
        if before is None:
            self.machines[said.id] = said
            return
        after = self._adopted(before, said)
        kept = ("state", "cluster", "host", "assigned", "last_error")
        in_place = replace(said, **{name: getattr(before, name) for name in kept})
        if self._is_ahead(said.id, started):
            self.machines[said.id] = in_place
            if any(getattr(before, name) != getattr(after, name) for name in kept[:3]):
                self.waiting[said.id] = said
        elif before.state is FAILED:
            self.machines[said.id] = in_place
        else:
            self.machines[said.id] = after

    def _adopted(self, before: Machine, said: Machine) -> Machine:
        tied: tuple[MachineState, ...] = (CONFIGURING, CONFIGURED, DRAINING, FAILED)
        if said.state in (IDLE, SPECULATIVE):
            return said
        goes_on = not said.cluster and said.state in tied and before.state in tied
        cluster = before.cluster if goes_on else said.cluster
        stamps = before.assigned if cluster == before.cluster else said.assigned
        return replace(said, cluster=cluster, assigned=stamps)
