"""A selector finds in columns what it finds machine by machine."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from bigfleet.engine.inventory import Inventory
from bigfleet.engine.selection import selected_rows
from bigfleet.model.machines import Machine, MachineState
from bigfleet.model.requirements import HOSTNAME_KEY
from bigfleet.model.shard_views import MachineSelector
from tests.generated.fleets import fleet_of_seed


def is_meant(selector: MachineSelector, machine: Machine, source: str) -> bool:
    """As people read it; Draining goes with Configured."""
    states = set(selector.states)
    if MachineState.CONFIGURED in states:
        states.add(MachineState.DRAINING)
    return (
        (not selector.ids or machine.id in selector.ids)
        and machine.id.startswith(selector.id_prefix)
        and (not states or machine.state in states)
        and (not selector.zones or machine.zone in selector.zones)
        and (not selector.instance_types or machine.instance_type in selector.instance_types)
        and (not selector.capacity_types or int(machine.capacity_type) in selector.capacity_types)
        and (not selector.cluster or machine.cluster == selector.cluster)
        and (not selector.provider or source == selector.provider)
        and all(machine.labels.get(key) == value for key, value in selector.labels)
    )


def some_selector(chance: Random, machines: list[Machine]) -> MachineSelector:
    """Of values that machines have, and now and then of one that none has."""
    if not machines:
        return MachineSelector()
    like = chance.choice(machines)
    labels = tuple(chance.sample(sorted(like.labels.items()), min(1, len(like.labels))))
    said: dict[str, object] = {
        "ids": frozenset({like.id, "absent"}),
        "states": frozenset({like.state, MachineState.IDLE}),
        "zones": frozenset({like.zone}),
        "instance_types": frozenset({like.instance_type}),
        "capacity_types": frozenset({int(like.capacity_type)}),
        "labels": labels if chance.random() < 0.7 else ((HOSTNAME_KEY, "absent"),),
        "cluster": chance.choice([like.cluster, "absent"]),
        "provider": chance.choice(["sim", "absent"]),
        "id_prefix": like.id[:2],
    }
    chosen = chance.sample(sorted(said), chance.randint(0, 3))
    return MachineSelector(**{name: said[name] for name in chosen})  # type: ignore[arg-type]


@given(st.integers(0, 100_000))
def test_columns_and_machines_agree(seed: int) -> None:
    chance = Random(seed)
    machines = [each.machine for each in fleet_of_seed(seed).machines]
    inventory = Inventory()
    for each in machines:
        inventory.insert(each, source="sim")
    selector = some_selector(chance, machines)
    snapshot = inventory.snapshot()
    found = [snapshot.ids[row] for row in selected_rows(snapshot, selector).tolist()]
    assert found == sorted(m.id for m in machines if is_meant(selector, m, "sim"))
