"""Requirements on a machine's attributes, and whether a machine meets them.

Resources never take part here: whether one unit fits is a vector comparison of its own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

INSTANCE_TYPE_KEY = "node.kubernetes.io/instance-type"
ZONE_KEY = "topology.kubernetes.io/zone"
REGION_KEY = "topology.kubernetes.io/region"
RACK_KEY = "topology.bigfleet/rack"
#: The Node name; the one label no two machines share.
HOSTNAME_KEY = "kubernetes.io/hostname"


class Operator(IntEnum):
    UNSPECIFIED = 0
    IN = 1
    NOT_IN = 2
    EXISTS = 3
    DOES_NOT_EXIST = 4
    SAME = 5


@dataclass(frozen=True, slots=True, order=True)
class Requirement:
    """Values are sorted and free of duplicates, so equal requirements are equal records."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, key: str, operator: Operator, values: Iterable[str] = ()) -> "Requirement":
        return cls(key, operator, tuple(sorted(set(values))))

    def met_by(self, value: str | None) -> bool:
        """Whether an attribute of this value (None: absent) meets the requirement.

        Same asks only that the attribute is there (and listed, if values are given): that all
        machines share one value is checked where the machines are picked.
        """
        match self.operator:
            case Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.SAME:
                return value is not None and (not self.values or value in self.values)
            case _:
                return False


def attribute_of(key: str, instance_type: str, zone: str, labels: Mapping[str, str]) -> str | None:
    """A machine's value for `key`, None if it has none.

    Only instance type and zone are projected from fields; every other key is a label or nothing.
    """
    if key == INSTANCE_TYPE_KEY and instance_type:
        return instance_type
    if key == ZONE_KEY and zone:
        return zone
    return labels.get(key)


def canonical(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """Sorted by key, operator and values, equal ones merged."""
    return tuple(sorted(set(requirements)))
