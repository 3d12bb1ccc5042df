"""What a provider lists becomes the inventory, machine by machine or a hundred thousand at once."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.engine.adoption import AdoptedBatch, StateChange
from bigfleet.engine.inventory import Inventory
from bigfleet.model.batches import MachineBatch
from bigfleet.model.errors import DuplicateMachine, InvalidMachine
from bigfleet.model.fleet import Held, HeldBy, Marks
from bigfleet.model.machines import Assigned, CapacityType, Host, Machine, MachineState
from bigfleet.model.requirements import HOSTNAME_KEY
from tests.inventory.batches import batch_of_machines

S = MachineState
SLOT = Machine("a-slot", S.SPECULATIVE, CapacityType.SPOT, instance_type="std-8", zone="z1")
IDLE = Machine(
    "b-idle",
    S.IDLE,
    CapacityType.ON_DEMAND,
    host=Host("acme", "i-1"),
    labels={HOSTNAME_KEY: "ip-1", "rack": "r1"},
    price_per_hour=0.4,
)
BOUND = Machine(
    "c-bound",
    S.CONFIGURED,
    host=Host("acme", "i-2"),
    cluster="shop",
    labels={HOSTNAME_KEY: "ip-2", "rack": "r1"},
    assigned=Assigned(7, need_fingerprint="f"),
)
FAILED = Machine("d-failed", S.FAILED, host=Host("other", ""), last_error="fan")


def listed(*machines: Machine) -> MachineBatch:
    return batch_of_machines(machines)


def known(*machines: Machine, now: int | None = None) -> Inventory:
    inventory = Inventory()
    inventory.adopt(listed(*machines), source="acme", now=now)
    return inventory


def test_everything_a_list_says_of_new_machines_is_kept() -> None:
    machines = (FAILED, SLOT, BOUND, IDLE)
    inventory = Inventory()
    told = inventory.adopt(listed(*machines), source="acme", now=5)
    assert told == AdoptedBatch(new=("d-failed", "a-slot", "c-bound", "b-idle"))
    assert [inventory.machine_of(machine.id) for machine in machines] == list(machines)
    assert inventory.marks_of("b-idle").idle_since == 5
    assert inventory.source_of("a-slot") == "acme"


def test_machines_that_differ_only_in_their_node_share_an_offering() -> None:
    inventory = known(IDLE, replace(IDLE, id="e", labels={**IDLE.labels, HOSTNAME_KEY: "ip-9"}))
    inventory.insert(replace(IDLE, id="f", labels={**IDLE.labels, HOSTNAME_KEY: "ip-7"}))
    assert len(set(inventory.snapshot().columns.offering.tolist())) == 1


def test_the_same_list_again_changes_nothing() -> None:
    inventory = known(SLOT, IDLE, BOUND, FAILED, now=5)
    before = inventory.snapshot()
    assert inventory.adopt(listed(IDLE, BOUND, FAILED, SLOT), source="acme", now=9).nothing
    assert inventory.snapshot() is before


def test_what_differs_is_told_by_its_field() -> None:
    inventory = known(SLOT, IDLE, BOUND)
    dearer = replace(IDLE, price_per_hour=0.5, host=Host("acme", "i-9"))
    renamed = replace(BOUND, labels={HOSTNAME_KEY: "ip-3", "rack": "r2"})
    told = inventory.adopt(listed(dearer, renamed), source="acme")
    assert told.refreshed == {"price_per_hour": 1, "labels": 1, "host": 1, "node_name": 1}
    assert told.steps == ()
    assert [inventory.machine_of(m.id) for m in (dearer, renamed)] == [dearer, renamed]


def test_the_provider_wins_on_state_and_the_step_is_told() -> None:
    inventory = known(BOUND, SLOT)
    back = replace(BOUND, state=S.IDLE, cluster="", assigned=Assigned())
    bought = replace(SLOT, state=S.CREATING)
    told = inventory.adopt(listed(back, bought), source="acme", now=8)
    assert told.steps == (
        StateChange("c-bound", S.CONFIGURED, S.IDLE, "shop", ""),
        StateChange("a-slot", S.SPECULATIVE, S.CREATING),
    )
    assert inventory.machine_of("c-bound") == back
    assert inventory.marks_of("c-bound").idle_since == 8


def test_a_machine_that_stays_idle_stays_idle_since_then() -> None:
    inventory = known(IDLE, now=5)
    inventory.adopt(listed(replace(IDLE, price_per_hour=0.1)), source="acme", now=9)
    assert inventory.marks_of("b-idle").idle_since == 5


def test_the_own_stamp_outlives_the_echo_for_the_same_cluster() -> None:
    inventory = known(BOUND)
    draining = replace(BOUND, state=S.DRAINING, assigned=Assigned(1))
    inventory.adopt(listed(draining), source="acme")
    assert inventory.machine_of("c-bound").assigned == BOUND.assigned


def test_a_machine_that_serves_another_cluster_brings_its_own_stamp() -> None:
    inventory = known(BOUND)
    elsewhere = replace(BOUND, cluster="bank", assigned=Assigned(1))
    told = inventory.adopt(listed(elsewhere), source="acme")
    assert inventory.machine_of("c-bound") == elsewhere
    assert told.steps == (StateChange("c-bound", S.CONFIGURED, S.CONFIGURED, "shop", "bank"),)


def test_idle_ends_a_binding_although_the_provider_still_shows_it() -> None:
    inventory = known(BOUND)
    inventory.adopt(listed(replace(BOUND, state=S.IDLE)), source="acme")
    assert inventory.machine_of("c-bound").cluster == ""
    assert inventory.machine_of("c-bound").assigned == Assigned()


def test_a_busy_machine_keeps_its_state_and_takes_the_price() -> None:
    inventory = known(BOUND)
    told = inventory.adopt(
        listed(replace(BOUND, state=S.IDLE, cluster="", host=Host("x", "y"), price_per_hour=9.0)),
        source="acme",
        busy=np.array([True]),
    )
    assert inventory.machine_of("c-bound") == replace(BOUND, price_per_hour=9.0)
    assert told == AdoptedBatch(refreshed={"price_per_hour": 1})


def test_marks_stay_with_a_state_and_end_with_it() -> None:
    inventory = known(IDLE)
    inventory.mark("b-idle", Marks(3, Held(HeldBy.OPERATOR), overdue=True))
    inventory.adopt(listed(replace(IDLE, price_per_hour=1.0)), source="acme", now=9)
    assert inventory.marks_of("b-idle") == Marks(3, Held(HeldBy.OPERATOR), overdue=True)
    inventory.adopt(listed(replace(IDLE, state=S.DELETING)), source="acme", now=9)
    assert inventory.marks_of("b-idle") == Marks()


def test_a_failure_is_kept_and_its_end_too() -> None:
    inventory = known(IDLE)
    broken = replace(IDLE, state=S.FAILED, last_error="fan")
    told = inventory.adopt(listed(broken), source="acme")
    assert (inventory.machine_of("b-idle"), told.refreshed) == (broken, {"last_error": 1})
    inventory.adopt(listed(replace(broken, last_error="disk")), source="acme")
    assert inventory.machine_of("b-idle").last_error == "disk"
    inventory.adopt(listed(IDLE), source="acme")
    assert inventory.machine_of("b-idle") == IDLE


def test_an_id_of_another_source_is_left_alone() -> None:
    inventory = known(IDLE)
    told = inventory.adopt(listed(replace(IDLE, price_per_hour=9.0), SLOT), source="metal")
    assert (told.foreign, told.new) == (("b-idle",), ("a-slot",))
    assert inventory.machine_of("b-idle") == IDLE
    assert inventory.source_of("b-idle") == "acme"


def test_a_batch_that_cannot_be_is_refused_whole() -> None:
    inventory = Inventory()
    with pytest.raises(InvalidMachine):
        inventory.adopt(listed(SLOT, replace(IDLE, price_per_hour=-1.0)), source="acme")
    with pytest.raises(DuplicateMachine):
        inventory.adopt(listed(IDLE, IDLE), source="acme")
    assert len(inventory) == 0


def test_names_of_nodes_long_gone_do_not_pile_up() -> None:
    inventory = known(IDLE, BOUND)
    for number in range(5_000):
        inventory.adopt(listed(replace(IDLE, labels={HOSTNAME_KEY: f"ip-{number}"})), source="acme")
        inventory.snapshot()
    assert len(inventory.tables.node_names) < 4_200
    assert inventory.machine_of("b-idle").labels == {HOSTNAME_KEY: "ip-4999"}
    assert inventory.machine_of("c-bound") == BOUND


ids = st.sampled_from(["a", "b", "c", "d"])
texts = st.sampled_from(["", "x", "yy", "é", "a longer one"])
names: st.SearchStrategy[dict[str, str]] = st.one_of(
    st.just({}), texts.map(lambda name: {HOSTNAME_KEY: name})
)


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    state = draw(st.sampled_from([S.SPECULATIVE, S.IDLE, S.CONFIGURED, S.FAILED]))
    bound = state is S.CONFIGURED
    return Machine(
        draw(ids),
        state,
        host=Host() if state is S.SPECULATIVE else Host("p", draw(texts)),
        cluster=draw(texts.filter(bool)) if bound else "",
        labels=draw(names),
        price_per_hour=draw(st.sampled_from([0.0, 1.0])),
        last_error="why" if state is S.FAILED else "",
    )


batches = st.lists(machines(), max_size=4, unique_by=lambda machine: machine.id)


@given(st.lists(st.one_of(batches, ids), max_size=8))
@settings(deadline=None)
def test_after_any_lists_the_inventory_says_what_was_said_last(
    happenings: list[list[Machine] | str],
) -> None:
    inventory = Inventory()
    said: dict[str, Machine] = {}
    for happening in happenings:
        if isinstance(happening, str):
            if happening in inventory:
                inventory.remove(happening)
                del said[happening]
        else:
            inventory.adopt(listed(*happening), source="acme")
            said |= {machine.id: machine for machine in happening}
        inventory.snapshot()
    assert {name: inventory.machine_of(name) for name in said} == said
    assert list(inventory.snapshot().ids) == sorted(said)
