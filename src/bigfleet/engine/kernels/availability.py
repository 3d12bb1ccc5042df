"""Counting what is free for each (profile, unit) some Need asks for."""

from bigfleet.engine.kernels.compiled import (
    BoolTable,
    Floats,
    FloatTable,
    Int32s,
    Int64s,
    Int64Table,
    kernel,
)
from bigfleet.engine.kernels.vectors import covers


@kernel
def free_for_keys(
    profile_of_key: Int32s,
    unit_of_key: Int64Table,
    penalty_of_key: Floats,
    matches: BoolTable,
    units: Int64Table,
    price: Floats,
    probability: Floats,
    kinds: Int64s,
    free: Int64Table,
    counts: Int64Table,
    lowest: FloatTable,
) -> None:
    """For each key, over the kinds that match its profile and hold one unit of it: adds to `counts`
    the columns of `free` (idle, speculative, speculative with a healthy provider), and lowers
    `lowest` to the price of an idle and the effective cost of a speculative machine.

    `kinds` are those that have anything free, `free` is in their order.
    """
    for key in range(len(profile_of_key)):
        profile = profile_of_key[key]
        for i in range(len(kinds)):
            kind = kinds[i]
            if not matches[profile, kind]:
                continue
            if not covers(units[kind], unit_of_key[key]):
                continue
            for column in range(3):
                counts[key, column] += free[i, column]
            if free[i, 0] > 0 and price[kind] < lowest[key, 0]:
                lowest[key, 0] = price[kind]
            if free[i, 1] > 0:
                cost = price[kind]
                if probability[kind] > 0:
                    cost += probability[kind] * penalty_of_key[key]
                if cost < lowest[key, 1]:
                    lowest[key, 1] = cost
