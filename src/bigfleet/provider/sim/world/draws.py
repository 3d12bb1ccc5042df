"""Chance without a stream: each draw is a keyed hash of what it is for.

A draw depends on (seed, purpose, subject, occurrence) and on nothing else, so the order in which
calls arrive never changes a result. There is no generator to share and none to seed twice.
"""

import math
from dataclasses import dataclass
from hashlib import blake2b
from statistics import NormalDist

_NORMAL = NormalDist()
_UNIT = 2.0**-52


@dataclass(frozen=True, slots=True)
class Draws:
    seed: int = 1

    def digest(self, purpose: str, subject: str, occurrence: int = 0, size: int = 8) -> bytes:
        key = f"{self.seed}\x1f{purpose}\x1f{subject}\x1f{occurrence}"
        return blake2b(key.encode(), digest_size=size).digest()

    def uniform(self, purpose: str, subject: str, occurrence: int = 0) -> float:
        """In the open interval (0, 1): neither end, so that logarithms and quantiles exist."""
        number = int.from_bytes(self.digest(purpose, subject, occurrence), "big")
        return ((number >> 12) + 0.5) * _UNIT

    def normal(self, purpose: str, subject: str, occurrence: int = 0) -> float:
        return _NORMAL.inv_cdf(self.uniform(purpose, subject, occurrence))

    def exponential(self, purpose: str, subject: str, occurrence: int = 0) -> float:
        """With mean one."""
        return -math.log(self.uniform(purpose, subject, occurrence))

    def chance(self, probability: float, purpose: str, subject: str, occurrence: int = 0) -> bool:
        if probability <= 0.0:
            return False
        return self.uniform(purpose, subject, occurrence) < probability

    def name(self, purpose: str, subject: str, occurrence: int = 0) -> str:
        """Twelve hexadecimal digits: enough that a fleet of a million has no two alike."""
        return self.digest(purpose, subject, occurrence, size=6).hex()
