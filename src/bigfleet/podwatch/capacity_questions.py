"""What podwatch asks the shard for ProvisioningRequests, and what it may be told."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from bigfleet.model.needs import Need, NeedKey


class Verdict(Enum):
    YES = "yes"
    #: On its way and moving.
    ARRIVING = "arriving"
    NO = "no"
    #: The shard was not reached, or does not answer such questions.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CapacityAnswer:
    verdict: Verdict
    #: One sentence; of a no with the reason's code in front: `supply.none: no machine ...`.
    text: str = ""


class CapacityQuestions(Protocol):
    """Neither raises: what cannot be answered is Verdict.UNKNOWN."""

    async def would_be_covered(self, needs: Sequence[Need]) -> CapacityAnswer:
        """Whether all of them together would be covered beside all that is asked for already, by
        what the fleet has and what their priority lets them take."""
        ...

    async def are_there(self, needs: Sequence[NeedKey]) -> CapacityAnswer:
        """Whether the machines for all of them are there and usable."""
        ...
