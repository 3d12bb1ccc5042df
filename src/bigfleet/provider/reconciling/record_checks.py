"""Which described records are fit to be shown: one broken record must not poison the inventory."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bigfleet.model.machines import CapacityType
from bigfleet.model.quantities import LARGEST_OF_MACHINE, BadQuantity, quantity_of, why_too_much
from bigfleet.model.requirements import HOSTNAME_KEY
from bigfleet.model.syntax import (
    why_not_cluster_id,
    why_not_label_key,
    why_not_label_value,
    why_not_machine_id,
    why_not_node_name,
    why_not_reference,
    why_not_resource_name,
)
from bigfleet.provider.backend import Host, Instance

FORBIDDEN_LABELS = frozenset(
    "instance-type instance_type instanceType zone availability-zone availability_zone "
    "capacity-type capacity_type capacityType".split()
)
_LONGEST_ID = 200
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS = re.compile(rf"{_LABEL}(\.{_LABEL})*")


@dataclass(frozen=True, slots=True)
class ScreenedInstances:
    sound: dict[str, Instance]
    #: (id, what is wrong)
    broken: list[tuple[str, str]]


def screened(instances: Iterable[Instance], *, allow_any_id: bool = False) -> ScreenedInstances:
    sound: dict[str, Instance] = {}
    broken: list[tuple[str, str]] = []
    for instance in instances:
        why = why_unsound(instance, allow_any_id=allow_any_id)
        if why is None and instance.id in sound:
            why = "the id appears twice"
        if why is None:
            sound[instance.id] = instance
        else:
            broken.append((instance.id, why))
    return ScreenedInstances(sound, broken)


def why_unsound(instance: Instance, *, allow_any_id: bool = False) -> str | None:
    """The first thing wrong with a described record, None if it may be shown."""
    if not instance.id:
        return "the id is empty"
    if not allow_any_id and not _is_dns_name(instance.id):
        return f"the id is not a lower-case DNS name of at most {_LONGEST_ID} characters"
    if allow_any_id and (wrong := why_not_machine_id(instance.id)):
        return f"id: {wrong}"
    if not instance.instance_type:
        return "the instance type is empty"
    if not instance.zone:
        return "the zone is empty; a provider with one zone reports a constant"
    if instance.capacity_type is CapacityType.UNSPECIFIED:
        return "the capacity type is unspecified"
    if instance.host is not None and not instance.host.ref:
        return "the host has an empty reference"
    return (
        _why_bad_cost(instance)
        or _why_bad_names(instance)
        or _why_bad_labels(instance)
        or why_bad_shape(instance.resources, instance.allocatable)
    )


def _why_bad_names(instance: Instance) -> str | None:
    """A shard refuses such a machine; its author is to hear it here, with the field."""
    for name in ("instance_type", "zone", "region"):
        if wrong := why_not_label_value(getattr(instance, name)):
            return f"{name}: {wrong}"
    if instance.host is not None and (wrong := why_bad_host(instance.host)):
        return wrong
    if instance.bound is not None and (wrong := why_not_cluster_id(instance.bound.cluster)):
        return f"bound.cluster: {wrong}"
    return None


def why_bad_host(host: Host) -> str | None:
    """Of a described machine, or of one that `create` made."""
    if wrong := why_not_reference(host.ref):
        return f"host.ref: {wrong}"
    if wrong := why_not_node_name(host.node_name):
        return f"host.node_name: {wrong}"
    return None


def _is_dns_name(text: str) -> bool:
    return len(text) <= _LONGEST_ID and _DNS.fullmatch(text) is not None


def _why_bad_cost(instance: Instance) -> str | None:
    price, probability = instance.price_per_hour, instance.interruption_probability
    if not (math.isfinite(price) and price >= 0):
        return f"the price {price} is not a finite amount of 0 or more"
    if not 0.0 <= probability <= 1.0:
        return f"the interruption probability {probability} is not between 0 and 1"
    if instance.capacity_type is CapacityType.SPOT and probability == 0.0:
        return "a spot machine cannot have the interruption probability 0"
    return None


def _why_bad_labels(instance: Instance) -> str | None:
    if bad := FORBIDDEN_LABELS.intersection(instance.labels):
        return f"the label {min(bad)} repeats a field; leave it out"
    for key, value in instance.labels.items():
        if wrong := why_not_label_key(key):
            return f"labels: {wrong}"
        why_not = why_not_node_name if key == HOSTNAME_KEY else why_not_label_value
        if wrong := why_not(value):
            return f"labels: {key}: {wrong}"
    return None


def why_bad_shape(resources: Mapping[str, str], allocatable: Mapping[str, str]) -> str | None:
    for name, quantities in (("resources", resources), ("allocatable", allocatable)):
        for dimension, text in quantities.items():
            if wrong := why_not_resource_name(dimension):
                return f"{name}: {wrong}"
            try:
                amount = quantity_of(dimension, text)
            except BadQuantity as error:
                return f"{name}: {dimension}: {error}"
            if problem := why_too_much(dimension, amount, LARGEST_OF_MACHINE):
                return f"{name}: {dimension}: {problem}"
            if name == "resources" and amount == 0 and dimension in allocatable:
                return f"resources: {dimension} is 0 although it is allocatable"
    return None
