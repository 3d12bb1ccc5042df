"""What changed between two inputs of the engine, found from their columns.

Costs a comparison of the columns and what changed, whatever the fleet weighs: rows are compared by
the numbers of interned values, which is possible as long as the tables are the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.kernels.compiled import Int64s
from bigfleet.engine.needs_table import FrozenNeeds
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.journal import ENDED
from bigfleet.model.needs import NeedKey

#: No decision reads them.
_UNREAD = ("source",)


@dataclass(frozen=True, slots=True)
class ChangedRows:
    #: Of the later snapshot: new machines, and those that differ.
    rows: Int64s
    removed: tuple[str, ...]


def same_tables(before: EngineInput, after: EngineInput) -> bool:
    """Whether numbers of interned values mean the same in both."""
    same_machines = before.snapshot.tables is after.snapshot.tables
    return same_machines and before.needs.tables is after.needs.tables


def rows_before(before: Sequence[str], after: Sequence[str]) -> tuple[Int64s, list[int]]:
    """For each id after, its place before (-1: new); and the places of those that are gone.

    Both ascend. Runs that are equal are compared as slices: they mostly are the very same texts.
    """
    if before is after:
        return np.arange(len(after)), []
    place: Int64s = np.full(len(after), -1, np.int64)
    gone: list[int] = []
    i = j = 0
    while i < len(before) and j < len(after):
        size = _equal_run(before, after, i, j)
        place[j : j + size] = np.arange(i, i + size)
        i, j = i + size, j + size
        if i == len(before) or j == len(after):
            break
        if before[i] < after[j]:
            gone.append(i)
            i += 1
        else:
            j += 1
    gone.extend(range(i, len(before)))
    return place, gone


def _equal_run(before: Sequence[str], after: Sequence[str], i: int, j: int) -> int:
    """How many ids from here on are equal one by one."""
    most, size, step = min(len(before) - i, len(after) - j), 0, 64
    while size < most and before[i + size : i + size + step] == after[j + size : j + size + step]:
        size += step
        step *= 2
    while step > 1 and size < most:
        step //= 2
        if before[i + size : i + size + step] == after[j + size : j + size + step]:
            size += step
    return min(size, most)


def changed_machines(before: Snapshot, after: Snapshot) -> ChangedRows:
    """Of snapshots over the same tables."""
    place, gone = rows_before(before.ids, after.ids)
    known = np.flatnonzero(place >= 0)
    changed = np.ones(len(after), np.bool_)
    changed[known] = False
    for (name, old), (_, new) in zip(before.columns.arrays(), after.columns.arrays(), strict=True):
        if name not in _UNREAD:
            changed[known] |= old[place[known]] != new[known]
    return ChangedRows(np.flatnonzero(changed), tuple(before.ids[row] for row in gone))


def changed_clusters(before: FrozenNeeds, after: FrozenNeeds) -> list[str]:
    """Names ascending of clusters whose demand was replaced, gone ones included."""
    if before is after:
        return []
    old, new = before.blocks, after.blocks
    changed = [name for name, block in new.items() if old.get(name) is not block]
    return sorted([*changed, *(name for name in old if name not in new)])


def unexpected_ages(
    before: Mapping[NeedKey, int], after: Mapping[NeedKey, int], cycles: int
) -> dict[NeedKey, int]:
    """Ages that did not just grow by the cycles that went by; ENDED for those that are gone."""
    if before is after and not before:
        return {}
    told = {key: age for key, age in after.items() if before.get(key, ENDED) != age - cycles}
    told.update({key: age for key, age in after.items() if key not in before})
    told.update({key: ENDED for key in before if key not in after})
    return told


def ages_after(
    before: Mapping[NeedKey, int], unexpected: Mapping[NeedKey, int], cycles: int
) -> dict[NeedKey, int]:
    """The other way round."""
    ages = {key: age + cycles for key, age in before.items() if unexpected.get(key) != ENDED}
    ages.update({key: age for key, age in unexpected.items() if age != ENDED})
    return ages
