"""Catalog, offering files and presets: shapes, prices, states and ids."""

from collections import Counter

import pytest

from bigfleet.model.errors import BadInput
from bigfleet.model.machines import CapacityType
from bigfleet.provider.sim.backend import instance_of
from bigfleet.provider.sim.world.economy import new_substrate
from bigfleet.provider.sim.world.offerings import CATALOG, offerings_of
from bigfleet.provider.sim.world.presets import NoSuchPreset, preset_of
from bigfleet.provider.sim.world.state import Rules, Substrate
from bigfleet.provider.sim.world.supply import SlotTaken
from tests.sim.handles import METAL, ON_DEMAND, SPOT, hand


def substrate_of(name: str, seed_count: int = 32) -> Substrate:
    return new_substrate(Rules(), preset_of(name, seed_count).offerings)


def states(substrate: Substrate) -> Counter[str]:
    return Counter(substrate.state_of(slot) for slot in substrate.supply.slots.values())


@pytest.mark.parametrize(
    ("name", "price"),
    [
        ("std-2", 0.095),
        ("std-8", 0.38),
        ("std-64", 3.04),
        ("cpu-8", 0.30),
        ("cpu-32", 1.20),
        ("mem-8", 0.54),
        ("mem-32", 2.16),
        ("gpu-a10-1", 1.38),
        ("gpu-h100-8", 47.52),
    ],
)
def test_a_type_costs_what_its_parts_cost(name: str, price: float) -> None:
    assert CATALOG[name].price_per_hour == price


def test_allocatable_leaves_half_a_cpu_and_an_eighth_of_the_memory_to_the_node() -> None:
    assert dict(CATALOG["std-8"].allocatable) == {"cpu": "7500m", "memory": "28Gi"}
    assert CATALOG["gpu-h100-8"].allocatable["nvidia.com/gpu"] == "8"


def test_an_alias_has_the_shape_of_its_twin() -> None:
    assert CATALOG["m6i.2xlarge"].resources == CATALOG["std-8"].resources
    assert CATALOG["a3-highgpu-8g"].price_per_hour == 47.52


def test_owned_machines_stand_there_and_cost_nothing_and_the_rest_can_be_bought() -> None:
    substrate = hand().substrate
    found = {s.id: instance_of(s) for s in substrate.supply.slots.values()}
    metal, on_demand, spot = found["bm-0000"], found["od-0000"], found["sp-0000"]
    assert metal.host is not None
    assert (metal.price_per_hour, metal.interruption_probability) == (0, 0)
    assert (on_demand.host, on_demand.price_per_hour) == (None, 0.095)
    assert on_demand.interruption_probability == 0.05
    assert (spot.host, spot.price_per_hour) == (None, 0.0285)
    assert spot.interruption_probability == 0.30


def test_ids_split_at_double_dashes_and_are_dns_names() -> None:
    [entry] = offerings_of(
        [{"instance_type": "c7g.xlarge", "zone": "Zone_B", "capacity_type": "on_demand"}]
    )
    [slot] = new_substrate(Rules(provider="Sim One"), [entry]).supply.slots
    assert slot == "sim-one--on-demand--c7g.xlarge--zone-b--000"


def test_a_second_offering_of_a_pool_continues_its_numbers() -> None:
    substrate = new_substrate(Rules(), [ON_DEMAND, ON_DEMAND])
    assert list(substrate.supply.slots)[-1] == "od-0007"
    assert len(substrate.supply.pools) == 1


def test_two_slots_never_share_an_id() -> None:
    first = {"instance_type": "std-2", "zone": "a b", "capacity_type": "spot"}
    second = {"instance_type": "std-2", "zone": "a-b", "capacity_type": "spot"}
    with pytest.raises(SlotTaken, match="offered twice"):
        new_substrate(Rules(), offerings_of([first, second]))


def test_an_offering_without_a_zone_is_spread_over_three() -> None:
    entry = {
        "instance_type": "std-4",
        "capacity_type": "spot",
        "count": 4,
        "sim": {"region": "eu-1", "racks": 2},
    }
    substrate = new_substrate(Rules(), offerings_of([entry]))
    zones = Counter(slot.pool.offering.zone for slot in substrate.supply.slots.values())
    assert zones == {"eu-1a": 2, "eu-1b": 1, "eu-1c": 1}
    racks = [s.labels["topology.bigfleet/rack"] for s in substrate.supply.slots.values()]
    assert racks == ["eu-1a-r0", "eu-1a-r1", "eu-1b-r0", "eu-1c-r0"]


def test_a_type_outside_the_catalog_brings_its_own_shape_and_price() -> None:
    entry = {
        "instance_type": "odd-1",
        "zone": "z",
        "capacity_type": "OnDemand",
        "resources": {"cpu": "1"},
        "price": 0.5,
    }
    [found] = offerings_of([entry])
    assert (found.price_per_hour, dict(found.resources)) == (0.5, {"cpu": "1"})


def test_all_problems_of_an_offering_file_are_told_together() -> None:
    entries = [
        {"instance_type": "nope", "zone": "z", "capacity_type": "borrowed", "count": -1},
        {"instance_type": "std-2", "zone": "z", "capacity_type": "spot", "colour": "red"},
        {
            "instance_type": "std-2",
            "zone": "z",
            "capacity_type": "spot",
            "interruption_probability": 0,
            "sim": {"latency": {"create": "fast", "boot": "0"}, "stock": "some"},
        },
        "std-2",
    ]
    with pytest.raises(BadInput) as refused:
        offerings_of(entries)
    assert {problem.path for problem in refused.value.problems} == {
        "[0].capacity_type",
        "[0].instance_type",
        "[0].count",
        "[1].colour",
        "[2].interruption_probability",
        "[2].sim.latency.create",
        "[2].sim.latency.boot",
        "[2].sim.stock",
        "[3]",
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("small", {"idle": 8, "speculative": 128}),
        ("demo", {"idle": 480, "speculative": 720}),
        ("conformance", {"speculative": 32}),
        ("fleet-5k", {"configured": 6520, "idle": 1006, "speculative": 15_000}),
        ("scale:2252", {"configured": 652, "idle": 100, "speculative": 1500}),
    ],
)
def test_a_preset_has_the_machines_it_names(name: str, expected: dict[str, int]) -> None:
    assert states(substrate_of(name)) == expected


def test_the_demo_is_the_fleet_of_the_tour() -> None:
    substrate = substrate_of("demo")
    offered = Counter(
        (s.pool.offering.capacity_type.label, s.pool.price) for s in substrate.supply.slots.values()
    )
    assert offered == {
        ("BareMetal", 0.0): 280,
        ("Reserved", 0.0): 200,
        ("OnDemand", 0.38): 480,
        ("Spot", 0.12): 120,
        ("Spot", 0.10): 120,
    }
    assert {slot.pool.offering.zone for slot in substrate.supply.slots.values()} == {"a", "b", "c"}
    assert {
        tuple(s.pool.offering.allocatable.values()) for s in substrate.supply.slots.values()
    } == {("7500m", "28Gi")}
    assert "bm-0031" in substrate.supply.slots


def test_every_third_conformance_slot_is_cheap_spot() -> None:
    substrate = substrate_of("conformance", 30)
    kinds = Counter(
        (s.pool.offering.capacity_type, s.pool.price, s.pool.probability)
        for s in substrate.supply.slots.values()
    )
    assert kinds == {(CapacityType.ON_DEMAND, 0.4, 0.05): 20, (CapacityType.SPOT, 0.12, 0.05): 10}


def test_a_machine_that_serves_from_the_start_carries_its_stamps() -> None:
    substrate = substrate_of("scale:2252")
    bound = next(s for s in substrate.supply.slots.values() if s.host and s.host.cluster)
    binding = instance_of(bound).bound
    assert binding is not None
    assert binding.cluster == "cluster-0"
    assert len(binding.shard_metadata) == 5


def test_an_unknown_preset_names_those_there_are() -> None:
    with pytest.raises(NoSuchPreset, match="conformance"):
        preset_of("huge", 1)


def test_labels_of_a_slot_name_provider_region_and_rack_from_the_start() -> None:
    labels = hand(METAL, SPOT).slot("sp-0000").labels
    assert labels == {
        "bigfleet.lucy.sh/provider": "sim",
        "topology.kubernetes.io/region": "sim-1",
    }
