"""SlotIndex: slots of the offerings married with the objects the substrate has.

A running object makes its slot a host. A stopped one makes it neither Idle nor for sale: it is left
out. An object whose tag names no slot is an orphan; it is shown with a label, so that a person can
delete it.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from bigfleet.model.machines import CapacityType
from bigfleet.provider.backend import Host, Instance, OfferingKey
from bigfleet.provider.blocks.offerings import Offering, Offerings, instance_of, slots

ORPHAN = "bigfleet.lucy.sh/orphan"

T = TypeVar("T")
#: What an offering costs, or how likely it is lost within the hour; None: unknown.
Quote = Callable[[OfferingKey], float | None]


class SlotIndex:
    def __init__(self, provider: str, offerings: Offerings) -> None:
        self._slots: dict[str, tuple[Offering, Instance]] = {
            machine_id: (offering, instance_of(offering, machine_id))
            for offering, machine_id in slots(provider, offerings)
        }

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, machine_id: str) -> bool:
        return machine_id in self._slots

    def merge(
        self,
        objects: Iterable[T],
        *,
        machine: Callable[[T], str],
        ref: Callable[[T], str],
        running: Callable[[T], bool],
        price: Quote | None = None,
        probability: Quote | None = None,
        node_name: Callable[[T], str] | None = None,
        orphan: Callable[[T], Instance | None] | None = None,
    ) -> list[Instance]:
        """Every slot and orphan as an Instance.

        Of several objects with one tag the first running one is the host; the others are orphans.
        `orphan` describes an object that has no slot: type, zone and capacity type are the
        substrate's to say. Without it such objects are not shown.
        """
        hosts: dict[str, Host] = {}
        stopped: set[str] = set()
        orphans: list[T] = []
        for found in objects:
            name = machine(found)
            if name not in self._slots or (name in hosts and running(found)):
                orphans.append(found)
            elif running(found):
                hosts[name] = Host(ref(found), node_name(found) if node_name else "")
            else:
                stopped.add(name)
        merged = [
            self._described(offering, instance, hosts.get(machine_id), price, probability)
            for machine_id, (offering, instance) in self._slots.items()
            if machine_id in hosts or machine_id not in stopped
        ]
        if orphan is not None:
            shown = (orphan(found) for found in orphans)
            merged += [_labelled(instance) for instance in shown if instance is not None]
        return merged

    def _described(
        self,
        offering: Offering,
        slot: Instance,
        host: Host | None,
        price: Quote | None,
        probability: Quote | None,
    ) -> Instance:
        """What the offering itself says about cost and risk wins over any quote."""
        cost, risk = slot.price_per_hour, slot.interruption_probability
        if offering.price is None and price is not None:
            quoted = price(offering.key)
            cost = cost if quoted is None else quoted
        if offering.interruption_probability is None and probability is not None:
            quoted = probability(offering.key)
            risk = risk if quoted is None else quoted
        if host is None and (cost, risk) == (
            slot.price_per_hour,
            slot.interruption_probability,
        ):
            return slot
        return replace(slot, host=host, price_per_hour=cost, interruption_probability=risk)


def _labelled(instance: Instance) -> Instance:
    risk = instance.interruption_probability
    if instance.capacity_type is CapacityType.SPOT and not risk:
        risk = 1.0  # its offering is unknown: no workload should count on it
    labels = {**instance.labels, ORPHAN: "true"}
    return replace(instance, labels=labels, interruption_probability=risk)
