"""Offering files, the ids of their slots, and slots married with what the substrate has."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.model.errors import BadInput
from bigfleet.provider import CapacityType, Host, Instance, OfferingKey, Offerings, SlotIndex
from bigfleet.provider.blocks.offerings import dns_form, slots
from bigfleet.provider.blocks.slot_index import ORPHAN
from bigfleet.provider.reconciling.record_checks import why_unsound

ENTRY = {
    "instance_type": "m6i.Large",
    "zone": "eu_1a",
    "capacity_type": "on_demand",
    "count": 2,
    "resources": {"cpu": "2"},
    "labels": {"team": "x"},
}


def offerings(*changes: dict[str, Any]) -> Offerings:
    return Offerings.of([{**ENTRY, **change} for change in changes or ({},)])


def test_a_file_is_read_as_existing_providers_write_it(tmp_path: Path) -> None:
    path = tmp_path / "offers.json"
    path.write_text(json.dumps([{**ENTRY, "sim": {"racks": 2}}]))
    (offering,) = Offerings.load(path)
    assert offering.key == OfferingKey("m6i.Large", "eu_1a", CapacityType.ON_DEMAND)
    assert (offering.count, offering.price) == (2, None)


def test_every_problem_of_a_file_is_told_with_its_place() -> None:
    with pytest.raises(BadInput) as caught:
        offerings({"capacity_type": "weekly"}, {}, {"count": -1}, {"zone": ""})
    places = [problem.path for problem in caught.value.problems]
    assert places == ["offerings[0]", "offerings[2]", "offerings[3]"]


def test_ids_are_dns_names_that_split_into_their_parts() -> None:
    ids = [machine_id for _, machine_id in slots("ACME cloud", offerings())]
    assert ids == [
        "acme-cloud--on-demand--m6i.large--eu-1a--000",
        "acme-cloud--on-demand--m6i.large--eu-1a--001",
    ]
    assert ids[0].split("--") == ["acme-cloud", "on-demand", "m6i.large", "eu-1a", "000"]


@given(st.text(min_size=1, max_size=40).filter(lambda text: dns_form(text) != ""))
def test_any_name_gives_a_sound_id(name: str) -> None:
    instance = Instance(f"{dns_form(name)}--000", "t", "z", CapacityType.ON_DEMAND)
    assert why_unsound(instance) is None
    assert "--" not in dns_form(name)


def test_equal_offerings_go_on_counting_and_lookalikes_are_refused() -> None:
    ids = [machine_id for _, machine_id in slots("a", offerings({}, {"labels": {}}))]
    assert [machine_id[-3:] for machine_id in ids] == ["000", "001", "002", "003"]
    with pytest.raises(BadInput, match="id_prefix"):
        list(slots("a", offerings({"zone": "eu-1a"}, {"zone": "eu_1a"})))
    prefixed = offerings({"zone": "eu-1a"}, {"zone": "eu_1a", "id_prefix": "other"})
    assert len(list(slots("a", prefixed))) == 4


@dataclass(frozen=True, slots=True)
class Vm:
    tag: str
    id: str
    on: bool = True


def merged(index: SlotIndex, *vms: Vm, **more: Any) -> dict[str, Instance]:
    found = index.merge(
        vms, machine=lambda vm: vm.tag, ref=lambda vm: vm.id, running=lambda vm: vm.on, **more
    )
    return {instance.id: instance for instance in found}


FIRST, SECOND = (machine_id for _, machine_id in slots("a", offerings()))


def test_a_running_object_is_a_host_and_a_stopped_one_is_left_out() -> None:
    index = SlotIndex("a", offerings())
    assert merged(index)[FIRST].host is None
    assert merged(index, Vm(FIRST, "i-1"))[FIRST].host == Host("i-1")
    assert list(merged(index, Vm(FIRST, "i-1", on=False))) == [SECOND]


def test_an_object_without_a_slot_is_an_orphan_that_can_be_reaped() -> None:
    index = SlotIndex("a", offerings())

    def described(vm: Vm) -> Instance:
        return Instance(vm.id, "t", "z", CapacityType.SPOT, Host(vm.id))

    found = merged(index, Vm("gone", "i-9"), Vm(FIRST, "i-1"), Vm(FIRST, "i-2"), orphan=described)
    assert {name for name, instance in found.items() if ORPHAN in instance.labels} == {"i-9", "i-2"}
    assert all(why_unsound(instance) is None for instance in found.values())
    assert "i-9" not in merged(index, Vm("gone", "i-9"))


def test_the_offering_wins_over_the_quote_and_the_quote_over_nothing() -> None:
    index = SlotIndex("a", offerings({}, {"zone": "b", "price": 0.5}))
    found = merged(index, price=lambda key: 0.2, probability=lambda key: None)
    assert {instance.price_per_hour for instance in found.values()} == {0.2, 0.5}
