"""All that the reference provider knows: dictionaries, and a journal where one is asked for.

Every change is in the journal before it is visible or acknowledged.
"""

from bigfleet.conformance.reference.fleet import seeded
from bigfleet.conformance.reference.record_list import RecordList
from bigfleet.conformance.reference.statefile import Damaged, Fact, StateFile, fact_of, record_of
from bigfleet.model.provider_calls import MachineRecord

Mark = tuple[int, int]


class Memory:
    def __init__(self, record_list: RecordList, state: StateFile | None = None) -> None:
        self.record_list = record_list
        self.marks: dict[tuple[str, str], Mark] = {}
        self.operations: dict[tuple[str, str], str] = {}
        self.counter = 0
        self.hosts = 0
        self._state = state
        self._seeded = False
        if state is not None and state.facts:
            self._load(state)
        elif state is not None:
            state.append({"life": record_list.life})

    def seed(self, provider: str, count: int, *, faults: bool, hosts: int = 0) -> None:
        """A fleet that was stored wins over the seed."""
        if self._seeded:
            return
        for record in seeded(provider, count, faults=faults, hosts=hosts):
            self.publish(record)
        self._seeded = True
        self._keep({"seeded": count})

    def publish(self, record: MachineRecord) -> None:
        self._keep_record(record)
        self.record_list.publish(record)

    def accept(self, kind: str, operation: str, record: MachineRecord) -> None:
        self.operations[(record.id, kind)] = operation
        if self._state is not None:
            named = {"op": [record.id, kind, operation], "n": self.counter}
            self._keep(named, {"m": fact_of(record)})
        self.record_list.publish(record)

    def set_mark(self, key: tuple[str, str], mark: Mark) -> None:
        self.marks[key] = mark
        self._keep({"mark": [*key, *mark]})

    def next_operation(self) -> str:
        self.counter += 1
        return f"op-{self.counter}"

    def next_host(self) -> int:
        self.hosts += 1
        return self.hosts

    def forget_operations(self, machine_id: str) -> None:
        for key in [key for key in self.operations if key[0] == machine_id]:
            del self.operations[key]
        self._keep({"forget": machine_id})

    def close(self) -> None:
        if self._state is not None:
            self._state.close()

    def _keep_record(self, record: MachineRecord) -> None:
        if self._state is not None:
            self._keep({"m": fact_of(record)})

    def _keep(self, *facts: Fact) -> None:
        if self._state is not None:
            self._state.append(*facts)

    def _load(self, state: StateFile) -> None:
        for fact in state.facts:
            self.recall(fact)
        self.hosts = self.counter
        if not self._seeded:
            raise Damaged("the state file ends before the fleet was stored")

    def recall(self, fact: Fact) -> None:
        match fact:
            case {"life": str(life)}:
                self.record_list.life = life
            case {"seeded": int()}:
                self._seeded = True
            case {"m": dict(machine)}:
                self.record_list.publish(record_of(machine))
            case {"op": [str(machine_id), str(kind), str(operation)], "n": int(counter)}:
                self.operations[(machine_id, kind)] = operation
                self.counter = counter
            case {"mark": [str(shard), str(machine_id), int(epoch), int(sequence)]}:
                self.marks[(shard, machine_id)] = (epoch, sequence)
            case {"forget": str(machine_id)}:
                for key in [key for key in self.operations if key[0] == machine_id]:
                    del self.operations[key]
