"""Penalty buckets: declared dollars folded into 28 stable classes.

A penalty takes part in a Profile's identity, so raw dollars would defeat aggregation. Buckets are
powers of two; a bucket stands for its upper bound, so cost arithmetic errs towards safer capacity.
"""

import math

UNSPECIFIED = 0
ZERO = 1
HALF_DOLLAR = 2
ONE_DOLLAR = 3
LARGEST_POWER = 26  # $8,388,608 = 2 ** 23
PINNED = 27

Bucket = int


def bucket_of_dollars(dollars: float) -> Bucket:
    """The smallest bucket whose upper bound is at least `dollars`."""
    if dollars <= 0:
        return ZERO
    if dollars <= 0.5:
        return HALF_DOLLAR
    for bucket in range(ONE_DOLLAR, LARGEST_POWER + 1):
        if dollars <= upper_bound_dollars(bucket):
            return bucket
    return PINNED


def upper_bound_dollars(bucket: Bucket) -> float:
    if bucket <= ZERO:
        return 0.0
    if bucket == HALF_DOLLAR:
        return 0.5
    if bucket <= LARGEST_POWER:
        return float(2 ** (bucket - ONE_DOLLAR))
    return math.inf


def bucket_label(bucket: Bucket) -> str:
    """The text in metrics and fleet files: `unspecified`, `0`, `0.5`, `8192`, `pinned`."""
    if bucket == UNSPECIFIED:
        return "unspecified"
    if bucket == PINNED:
        return "pinned"
    return f"{upper_bound_dollars(bucket):g}" if bucket <= HALF_DOLLAR else str(2 ** (bucket - 3))


LABELS: dict[str, Bucket] = {bucket_label(b): b for b in range(PINNED + 1)}
ENUM_NAMES: dict[str, Bucket] = {
    "PENALTY_BUCKET_UNSPECIFIED": UNSPECIFIED,
    "PENALTY_BUCKET_ZERO": ZERO,
    "PENALTY_BUCKET_HALF_DOLLAR": HALF_DOLLAR,
    **{f"PENALTY_BUCKET_{2 ** (b - 3)}": b for b in range(ONE_DOLLAR, LARGEST_POWER + 1)},
    "PENALTY_BUCKET_PINNED": PINNED,
}
