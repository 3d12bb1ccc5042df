"""Which gangs fit on one machine and need no topology at all.

A gang folds when some machine could host it whole and nothing it already has would be lost by it:
no incumbent too small for it, no order or reservation under its own name, and no more gangs of its
class than the machines that fit can hold, where smaller machines would serve them too.
"""

import numpy as np

from bigfleet.engine.kernels.compiled import (
    Bools,
    BoolTable,
    Int,
    Int32s,
    Int64s,
    Int64Table,
    kernel,
    step,
)
from bigfleet.engine.kernels.new_arrays import filled_int64s, new_bools
from bigfleet.engine.kernels.records import SupplyArrays
from bigfleet.engine.kernels.vectors import LARGEST, covers, first_at


@step
def _plus_times(total: Int, gangs: Int, machines: Int) -> Int:
    """total + gangs * machines, held at the largest number a column can count."""
    if machines > 0 and gangs > (LARGEST - total) // machines:
        return np.int64(LARGEST)
    return total + gangs * machines


@kernel
def hosts_of_classes(
    classes: Int64s,
    cluster: Int32s,
    shape: Int32s,
    match: Int32s,
    folded_pair: Int64s,
    folded_identity: Int64s,
    wanted: Int64Table,
    unit: Int64Table,
    matches: BoolTable,
    units: Int64Table,
    pool_machines: Int64s,
    supply: SupplyArrays,
    draining_identity: Int64s,
    draining_kind: Int32s,
) -> tuple[Int64s, Bools]:
    """Per (cluster, gang shape): how many gangs fit on single machines, and whether a machine that
    holds a unit but not the gang is in sight.

    `classes` lists the classes by shape, so that what a kind is to a shape is worked out once.
    """
    fits = filled_int64s(len(cluster), np.int64(0))
    small = new_bools(len(cluster))
    holds = filled_int64s(len(units) + 1, np.int64(0))
    serves = new_bools(len(units) + 1)
    # Columns named once: taking one out of its bundle inside the loop costs more than the loop.
    starts, kind_of_place = supply.starts, supply.kind_of_place
    known = -1
    shared_fit: Int = np.int64(0)
    shared_small = False
    for c in classes:
        if shape[c] != known:
            known = shape[c]
            shared_fit, shared_small = np.int64(0), False
            for k in range(len(units)):
                holds[k] = 0
                serves[k] = False
                if matches[match[c], k]:
                    if covers(units[k], wanted[c]):
                        gangs = np.int64(LARGEST)
                        for d in range(wanted.shape[1]):
                            if wanted[c, d] > 0:
                                gangs = min(gangs, units[k, d] // wanted[c, d])
                        holds[k] = gangs
                    else:
                        serves[k] = covers(units[k], unit[c])
                if pool_machines[k] > 0:
                    shared_fit = _plus_times(shared_fit, holds[k], pool_machines[k])
                    shared_small = shared_small or serves[k]
        fit, tight = shared_fit, shared_small
        if cluster[c] >= 0:
            for i in range(starts[2 * cluster[c]], starts[2 * cluster[c] + 2]):
                kind = kind_of_place[i]
                tight = tight or serves[kind]
                if holds[kind] > 0:
                    fit = _plus_times(fit, holds[kind], np.int64(1))
        j = first_at(supply.creating_pair, folded_pair[c])
        while j < len(supply.creating) and supply.creating_pair[j] == folded_pair[c]:
            row = supply.creating[j]
            by = supply.cluster_of_stamp[supply.stamp[row]]
            if (by == -1 or by == cluster[c]) and not supply.overdue[row]:
                fit = _plus_times(fit, holds[supply.kind[row]], np.int64(1))
                tight = tight or serves[supply.kind[row]]
            j += 1
        for i in range(len(draining_identity)):
            if draining_identity[i] == folded_identity[c]:
                fit = _plus_times(fit, holds[draining_kind[i]], np.int64(1))
                tight = tight or serves[draining_kind[i]]
        fits[c] = fit
        small[c] = tight
    return fits, small


@kernel
def fold_in_order(
    stays: Bools, class_of: Int32s, group: Int32s, groups: int, fits: Int64s, small: Bools
) -> Bools:
    """Which gangs fold, in demand order, each group only as far as its hosts reach."""
    folds = new_bools(len(stays))
    folded = filled_int64s(groups, np.int64(0))
    for g in range(len(stays)):
        fit = fits[class_of[g]]
        if stays[g] or fit == 0:
            continue
        if small[class_of[g]] and folded[group[g]] >= fit:
            continue
        folds[g] = True
        folded[group[g]] += 1
    return folds
