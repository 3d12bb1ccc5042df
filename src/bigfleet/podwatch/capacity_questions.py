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
    #: Beside bookings that the shard does not know yet it would not be covered; without one of
    #: them it might be.
    OTHERS_FIRST = "others first"
    #: The shard was not reached, or does not answer such questions.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CapacityAnswer:
    verdict: Verdict
    #: One sentence; of a no with the reason's code in front: `supply.none: no machine ...`.
    text: str = ""
    #: The shard's last finished cycle when it looked at the Needs; None: it does not matter.
    cycle: int | None = None


class CapacityQuestions(Protocol):
    """Neither raises: what cannot be answered is Verdict.UNKNOWN."""

    async def would_be_covered(
        self, needs: Sequence[Need], beside: Sequence[Need] = ()
    ) -> CapacityAnswer:
        """Whether all of them together would be covered beside all that is asked for already, by
        what the fleet has and what their priority lets them take. `beside`: what is granted to
        others and has not reached the shard."""
        ...

    async def are_there(self, needs: Sequence[NeedKey]) -> CapacityAnswer:
        """Whether the machines for all of them are there and usable."""
        ...


def beside_others(answer: CapacityAnswer, others: int) -> CapacityAnswer:
    """An answer that counted bookings of others which may have reached the shard meanwhile: a no
    may be one that counts them twice."""
    if not others or answer.verdict is not Verdict.NO:
        return answer
    noun = "booking that was" if others == 1 else "bookings that were"
    text = f"beside {others} {noun} granted before it and may not be with the shard: {answer.text}"
    return CapacityAnswer(Verdict.OTHERS_FIRST, text)
