"""Which names of a machine are refused: ids, labels and all other texts that a provider chooses.

A List is looked at by columns: what machines share is checked once, and ids, host references and
node names all together. Only columns in which something may be wrong are asked text by text.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bigfleet.engine.kernels.compiled import Bools
from bigfleet.model.batches import MachineBatch, Offering, Texts
from bigfleet.model.machines import Machine
from bigfleet.model.requirements import HOSTNAME_KEY
from bigfleet.model.resources import Resources
from bigfleet.model.syntax import (
    LONGEST_ID,
    LONGEST_REFERENCE,
    are_machine_ids,
    shown,
    why_not_cluster_id,
    why_not_label_key,
    why_not_label_value,
    why_not_machine_id,
    why_not_node_name,
    why_not_reference,
    why_not_resource_name,
)

WhyNot = Callable[[str], str | None]
#: Bytes that may stand anywhere in a host reference, and in the middle of a node name.
_GRAPHIC = bytes(range(0x21, 0x7F))
_OF_NODE_NAME = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."
_MAY_LEAD_UPWARDS = b".."
#: Texts joined at a time: a few megabytes.
_AT_A_TIME = 16_384


def why_bad_text(machine: Machine) -> tuple[str, str] | None:
    """The first text that is refused, as (field, sentence), or None."""
    if wrong := why_not_machine_id(machine.id):
        return "id", wrong
    if wrong := why_not_label_value(machine.instance_type):
        return "instanceType", wrong
    if wrong := why_not_label_value(machine.zone):
        return "zone", wrong
    if wrong := _why_bad_labels(tuple(machine.labels.items())):
        return "labels", wrong
    if wrong := _why_bad_resources(machine.resources):
        return "resources", wrong
    if wrong := _why_bad_resources(machine.allocatable):
        return "allocatable", wrong
    if wrong := why_not_reference(machine.host.provider):
        return "host.provider", wrong
    if wrong := why_not_reference(machine.host.ref):
        return "host.ref", wrong
    if machine.cluster and (wrong := why_not_cluster_id(machine.cluster)):
        return "cluster", wrong
    return None


def told_id(machine_id: str) -> str:
    """The id as it may stand in a log: one that is refused is escaped."""
    return machine_id if why_not_machine_id(machine_id) is None else shown(machine_id)


def rows_with_bad_texts(batch: MachineBatch) -> Bools:
    """Machines of which `why_bad_text` has something to say."""
    bad = np.zeros(len(batch), np.bool_)
    if not len(batch):
        return bad
    if not are_machine_ids(batch.ids):
        bad |= _refused(batch.ids, why_not_machine_id)
    bad |= _refused_offerings(batch.offerings)[batch.offering_of_machine]
    clusters = _refused(batch.clusters, why_not_cluster_id)
    bad |= _of_rows(clusters, batch.cluster_of_machine)
    if batch.hosts is not None:
        hosts = batch.hosts
        providers = _refused(hosts.providers, why_not_reference)
        bad |= _of_rows(providers, hosts.provider_of_machine)
        bad |= _bad_among(hosts.refs, _GRAPHIC, LONGEST_REFERENCE, why_not_reference)
    if batch.node_names is not None:
        bad |= _bad_among(batch.node_names, _OF_NODE_NAME, LONGEST_ID, why_not_node_name)
    return bad


def _why_bad_labels(labels: Sequence[tuple[str, str]]) -> str | None:
    for key, value in labels:
        if wrong := why_not_label_key(key):
            return wrong
        check = why_not_node_name if key == HOSTNAME_KEY else why_not_label_value
        if wrong := check(value):
            return f"{key}: {wrong}"
    return None


def _why_bad_resources(resources: Resources) -> str | None:
    wrongs = (why_not_resource_name(name) for name, _ in resources.amounts)
    return next((wrong for wrong in wrongs if wrong), None)


def _refused(texts: Sequence[str], why_not: WhyNot) -> Bools:
    return np.array([why_not(text) is not None for text in texts], np.bool_)


def _refused_offerings(offerings: Sequence[Offering]) -> Bools:
    return np.array([_is_refused(offering) for offering in offerings], np.bool_)


def _is_refused(offering: Offering) -> bool:
    return bool(
        why_not_label_value(offering.instance_type)
        or why_not_label_value(offering.zone)
        or _why_bad_labels(offering.labels)
        or _why_bad_resources(offering.resources)
        or _why_bad_resources(offering.allocatable)
    )


def _of_rows(refused: Bools, number_of_row: NDArray[np.int32]) -> Bools:
    """By row; a row with the number -1 has no such text."""
    if not refused.any():
        return np.zeros(len(number_of_row), np.bool_)
    return np.append(refused, False)[number_of_row]


def _bad_among(texts: Texts, plain: bytes, longest: int, why_not: WhyNot) -> Bools:
    """All together first: texts of plain bytes, neither too long nor leading upwards, are fine."""
    lengths = texts.ends - texts.starts
    is_plain = int(lengths.max(initial=0)) <= longest
    for start in range(0, len(texts), _AT_A_TIME):
        if not is_plain:
            break
        together = _joined(texts, lengths, slice(start, start + _AT_A_TIME))
        is_plain = not together.translate(None, plain) and _MAY_LEAD_UPWARDS not in together
    if is_plain:
        return np.zeros(len(texts), np.bool_)
    return np.array([bool(text and why_not(text)) for text in texts.read()], np.bool_)


def _joined(texts: Texts, lengths: NDArray[np.int64], rows: slice) -> bytes:
    """The bytes of these texts, one after the other; by columns, as slices take twice as long."""
    starts, sizes = texts.starts[rows], lengths[rows]
    places = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    places += np.arange(len(places))
    content: bytes = texts.content[places].tobytes()
    return content
