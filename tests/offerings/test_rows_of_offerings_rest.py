"""Rows: several offerings of one zone, or of one type, that run out together."""

from bigfleet.model.machines import CapacityType, MachineState
from tests.execution.rig import Rig
from tests.offerings.shelves import free, run_out, stock, until_probe

S = MachineState
TYPES = ("c5.large", "m5.large", "r5.large")


def zone_trouble() -> tuple[Rig, list[str], list[str]]:
    """Three types of one zone ran out; a fourth type and another zone did not."""
    rig = Rig()
    for instance_type in TYPES:
        stock(rig, instance_type, instance_type=instance_type, zone="eu-1a")
    same_zone = stock(rig, "x1", instance_type="x1.large", zone="eu-1a")
    elsewhere = stock(rig, "b", instance_type="x1.large", zone="eu-1b")
    for instance_type in TYPES:
        run_out(rig, f"{instance_type}-0")
    return rig, same_zone, elsewhere


def test_three_types_of_a_zone_stop_the_whole_zone() -> None:
    rig, same_zone, elsewhere = zone_trouble()
    assert free(rig, same_zone) == []
    assert free(rig, elsewhere) == elsewhere
    assert "cloud/*/eu-1a" in {view.name for view in rig.offerings.views()}


def test_two_types_of_a_zone_do_not() -> None:
    rig = Rig()
    for instance_type in TYPES:
        stock(rig, instance_type, instance_type=instance_type)
    for instance_type in TYPES[:2]:
        run_out(rig, f"{instance_type}-0")
    third = [f"{TYPES[2]}-{n}" for n in range(3)]
    assert free(rig, third) == third


def test_openings_far_apart_do_not() -> None:
    rig = Rig()
    for instance_type in TYPES:
        stock(rig, instance_type, instance_type=instance_type)
    same_zone = stock(rig, "x1", instance_type="x1.large")
    for instance_type in TYPES:
        run_out(rig, f"{instance_type}-0")
        rig.leap(61)
    assert free(rig, same_zone) == same_zone


def test_three_zones_of_a_type_stop_the_whole_type() -> None:
    rig = Rig()
    for zone in ("a", "b", "c"):
        stock(rig, zone, zone=zone)
    fourth = stock(rig, "d", zone="d")
    other_type = stock(rig, "x1", zone="d", instance_type="x1.large")
    for zone in ("a", "b", "c"):
        run_out(rig, f"{zone}-0")
    assert free(rig, fourth) == []
    assert free(rig, other_type) == other_type


def test_owned_metal_is_never_stopped_by_a_clouds_trouble() -> None:
    rig, _, _ = zone_trouble()
    metal = stock(rig, "metal", capacity_type=CapacityType.BARE_METAL)
    reserved = stock(rig, "reserved", capacity_type=CapacityType.RESERVED)
    rig.leap(1)
    assert free(rig, [*metal, *reserved]) == [*metal, *reserved]
    rig.provision("metal-0")
    assert rig.state_of("metal-0") is S.CREATING


def test_a_row_comes_back_through_a_probe_of_its_own() -> None:
    rig, same_zone, _ = zone_trouble()
    until_probe(rig, same_zone)
    rig.provision(same_zone[0])
    assert free(rig, same_zone) == []
    rig.ack(same_zone[0], S.IDLE)
    assert free(rig, same_zone) == same_zone[1:]


def test_an_offering_of_a_row_that_came_back_still_rests_for_itself() -> None:
    rig, same_zone, _ = zone_trouble()
    rig.offerings.reset("cloud/*/eu-1a", rig.now)
    assert free(rig, same_zone) == same_zone
    assert free(rig, [f"{TYPES[0]}-{n}" for n in range(3)]) == []
