"""Need identities as integers, so that columns can compare them.

A stamp on a machine, a reservation and a Need meet by (fingerprint, group) and cluster. The pair is
a 64-bit digest: equal texts give equal numbers in every process, and among a million pairs the
chance of two meeting by accident is below one in ten million.
"""

import hashlib

from bigfleet.model.syntax import cached_by_text


@cached_by_text(65_536)
def pair_of(fingerprint: str, group: str) -> int:
    """Fingerprints may be long: the cache is emptied when the tables of the demand start anew."""
    digest = hashlib.blake2b(f"{fingerprint}\0{group}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


#: Odd and well mixed, so that the same pair in two clusters gives two numbers far apart.
CLUSTER_STEP = 0x9E3779B97F4A7C15 - 2**64


def identity_of(cluster_number: int, pair: int) -> int:
    """One number for (cluster, fingerprint, group), clusters being numbered by the demand."""
    mixed = (pair + (cluster_number + 1) * CLUSTER_STEP) % 2**64
    return mixed - 2**64 if mixed >= 2**63 else mixed
