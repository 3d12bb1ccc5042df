"""Scopes: an offering, or a whole row of them: all types of a zone, or all zones of a type."""

import hashlib
from dataclasses import dataclass

from bigfleet.model.machines import CapacityType, Machine

#: What is bought when it is wanted. What was paid for already is never held back by a shortage
#: of what is not.
_BOUGHT = (CapacityType.ON_DEMAND, CapacityType.SPOT, CapacityType.UNSPECIFIED)


_CAPACITY_TYPES = {each.label: each for each in CapacityType}


@dataclass(frozen=True, slots=True, order=True)
class OfferingScope:
    provider: str
    instance_type: str
    zone: str
    capacity_type: CapacityType

    @property
    def name(self) -> str:
        return "/".join((self.provider, self.instance_type, self.zone, self.capacity_type.label))

    @property
    def rows(self) -> tuple["OfferingRow", ...]:
        if self.capacity_type not in _BOUGHT:
            return ()
        return OfferingRow(self.provider, zone=self.zone), OfferingRow(
            self.provider, instance_type=self.instance_type
        )


@dataclass(frozen=True, slots=True, order=True)
class OfferingRow:
    """One of the two is set."""

    provider: str
    instance_type: str = ""
    zone: str = ""

    @property
    def name(self) -> str:
        return "/".join((self.provider, self.instance_type or "*", self.zone or "*"))


Scope = OfferingScope | OfferingRow


def scope_named(name: str) -> Scope | None:
    """The scope of a name as it is written here; None: it is not a scope."""
    of_offering, of_row = name.rsplit("/", 3), name.rsplit("/", 2)
    capacity_type = _CAPACITY_TYPES.get(of_offering[-1])
    if len(of_offering) == 4 and capacity_type is not None:
        return OfferingScope(of_offering[0], of_offering[1], of_offering[2], capacity_type)
    if len(of_row) == 3 and (of_row[1] == "*") != (of_row[2] == "*"):
        provider, instance_type, zone = of_row
        return (
            OfferingRow(provider, zone=zone)
            if instance_type == "*"
            else OfferingRow(provider, instance_type)
        )
    return None


def offering_of(machine: Machine, provider: str) -> OfferingScope:
    return OfferingScope(provider, machine.instance_type, machine.zone, machine.capacity_type)


def scopes_of(offering: OfferingScope) -> tuple[Scope, ...]:
    return (offering, *offering.rows)


def covers(scope: Scope, offering: OfferingScope) -> bool:
    return scope in scopes_of(offering)


def jitter(scope: Scope, attempt: int) -> float:
    """Between 1 and 1.1, the same for the same attempt of the same scope anywhere."""
    digest = hashlib.sha256(f"{scope.name}\0{attempt}".encode()).digest()
    return 1.0 + int.from_bytes(digest[:4]) / 2**32 / 10
