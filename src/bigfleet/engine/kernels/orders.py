"""Keeping the keep-priority order sorted: what changed is taken out and merged back in.

Machine rows are in id order, so the row itself is the last tie-break. Sorting half a million rows
costs a tenth of a second; merging a few changed ones into an order that is already there costs one
pass over it.
"""

from bigfleet.engine.kernels.compiled import Bools, Floats, Int32s, kernel, step
from bigfleet.engine.kernels.new_arrays import new_int32s


@step
def keeps_before(
    a: int,
    b: int,
    bucket_of_row: Int32s,
    offering_of_row: Int32s,
    stamp_of_row: Int32s,
    empty_of_row: Bools,
    price_of_offering: Floats,
    reclamation_of_stamp: Floats,
) -> bool:
    """Whether row a stands before row b.

    By bucket, price ascending, penalty descending, busy before empty, id.
    """
    if bucket_of_row[a] != bucket_of_row[b]:
        return bool(bucket_of_row[a] < bucket_of_row[b])
    price_a = price_of_offering[offering_of_row[a]]
    price_b = price_of_offering[offering_of_row[b]]
    if price_a != price_b:
        return bool(price_a < price_b)
    penalty_a = reclamation_of_stamp[stamp_of_row[a]]
    penalty_b = reclamation_of_stamp[stamp_of_row[b]]
    if penalty_a != penalty_b:
        return bool(penalty_a > penalty_b)
    if empty_of_row[a] != empty_of_row[b]:
        return bool(empty_of_row[b])
    return a < b


@kernel
def merge_keep_order(
    order: Int32s,
    dirty_of_row: Bools,
    fresh: Int32s,
    bucket_of_row: Int32s,
    offering_of_row: Int32s,
    stamp_of_row: Int32s,
    empty_of_row: Bools,
    price_of_offering: Floats,
    reclamation_of_stamp: Floats,
) -> Int32s:
    """The rows of `order` that are not dirty, merged with the sorted rows `fresh`."""
    merged = new_int32s(len(order) + len(fresh))
    size = 0
    j = 0
    for i in range(len(order)):
        row = order[i]
        if dirty_of_row[row]:
            continue
        while j < len(fresh) and keeps_before(
            fresh[j],
            row,
            bucket_of_row,
            offering_of_row,
            stamp_of_row,
            empty_of_row,
            price_of_offering,
            reclamation_of_stamp,
        ):
            merged[size] = fresh[j]
            size += 1
            j += 1
        merged[size] = row
        size += 1
    while j < len(fresh):
        merged[size] = fresh[j]
        size += 1
        j += 1
    return merged[:size]
