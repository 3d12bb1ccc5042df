"""Rows: several offerings of one zone, or of one type, that run out together."""

from bigfleet.model.machines import CapacityType, MachineState
from tests.execution.stage import Stage
from tests.offerings.shelves import free, run_out, stock, until_probe

S = MachineState
TYPES = ("c5.large", "m5.large", "r5.large")


def zone_trouble() -> tuple[Stage, list[str], list[str]]:
    """Three types of one zone ran out; a fourth type and another zone did not."""
    stage = Stage()
    for instance_type in TYPES:
        stock(stage, instance_type, instance_type=instance_type, zone="eu-1a")
    same_zone = stock(stage, "x1", instance_type="x1.large", zone="eu-1a")
    elsewhere = stock(stage, "b", instance_type="x1.large", zone="eu-1b")
    for instance_type in TYPES:
        run_out(stage, f"{instance_type}-0")
    return stage, same_zone, elsewhere


def test_three_types_of_a_zone_stop_the_whole_zone() -> None:
    stage, same_zone, elsewhere = zone_trouble()
    assert free(stage, same_zone) == []
    assert free(stage, elsewhere) == elsewhere
    assert "cloud/*/eu-1a" in {view.name for view in stage.offerings.views()}


def test_two_types_of_a_zone_do_not() -> None:
    stage = Stage()
    for instance_type in TYPES:
        stock(stage, instance_type, instance_type=instance_type)
    for instance_type in TYPES[:2]:
        run_out(stage, f"{instance_type}-0")
    third = [f"{TYPES[2]}-{n}" for n in range(3)]
    assert free(stage, third) == third


def test_openings_far_apart_do_not() -> None:
    stage = Stage()
    for instance_type in TYPES:
        stock(stage, instance_type, instance_type=instance_type)
    same_zone = stock(stage, "x1", instance_type="x1.large")
    for instance_type in TYPES:
        run_out(stage, f"{instance_type}-0")
        stage.leap(61)
    assert free(stage, same_zone) == same_zone


def test_three_zones_of_a_type_stop_the_whole_type() -> None:
    stage = Stage()
    for zone in ("a", "b", "c"):
        stock(stage, zone, zone=zone)
    fourth = stock(stage, "d", zone="d")
    other_type = stock(stage, "x1", zone="d", instance_type="x1.large")
    for zone in ("a", "b", "c"):
        run_out(stage, f"{zone}-0")
    assert free(stage, fourth) == []
    assert free(stage, other_type) == other_type


def test_owned_metal_is_never_stopped_by_a_clouds_trouble() -> None:
    stage, _, _ = zone_trouble()
    metal = stock(stage, "metal", capacity_type=CapacityType.BARE_METAL)
    reserved = stock(stage, "reserved", capacity_type=CapacityType.RESERVED)
    stage.leap(1)
    assert free(stage, [*metal, *reserved]) == [*metal, *reserved]
    stage.provision("metal-0")
    assert stage.state_of("metal-0") is S.CREATING


def test_a_row_comes_back_through_a_probe_of_its_own() -> None:
    stage, same_zone, _ = zone_trouble()
    until_probe(stage, same_zone)
    stage.provision(same_zone[0])
    assert free(stage, same_zone) == []
    stage.ack(same_zone[0], S.IDLE)
    assert free(stage, same_zone) == same_zone[1:]


def test_an_offering_of_a_row_that_came_back_still_rests_for_itself() -> None:
    stage, same_zone, _ = zone_trouble()
    stage.offerings.reset("cloud/*/eu-1a", stage.now)
    assert free(stage, same_zone) == same_zone
    assert free(stage, [f"{TYPES[0]}-{n}" for n in range(3)]) == []
