"""What a ProvisioningRequest's status says, and what it is known by after a restart: the conditions
are the memory of where a request stands.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from bigfleet.kube.objects import StatusCondition
from bigfleet.kube.provisioning_requests import (
    ACCEPTED,
    BOOKING_EXPIRED,
    CAPACITY_REVOKED,
    FAILED,
    PROVISIONED,
    ProvisioningRequest,
)
from bigfleet.model.instants import instant_of
from bigfleet.model.machines import Instant
from bigfleet.podwatch.conditions import SaidCondition, condition_json, merged

#: Reason of Provisioned while the shares of a booking are asked for and not all there.
REQUESTED = "CapacityRequested"
_ENDINGS = (FAILED, BOOKING_EXPIRED, CAPACITY_REVOKED)
#: Characters of a message; a server takes 32,768.
_LONGEST_TEXT = 1024


class Phase(Enum):
    #: It has no booking: it was not answered yet, or waits for the next answer.
    WAITING = "waiting"
    #: Its booking is made, and not all of it is there.
    REQUESTED = "requested"
    BOOKED = "booked"
    #: Failed, expired or revoked: it asks for nothing, for ever.
    OVER = "over"


@dataclass(frozen=True, slots=True)
class Standing:
    phase: Phase
    #: Of a booked one: since when; None: the condition does not say.
    since: Instant | None = None


def standing_of(conditions: Sequence[StatusCondition]) -> Standing:
    holds = {each.type for each in conditions if each.status == "True"}
    if any(ending in holds for ending in _ENDINGS):
        return Standing(Phase.OVER)
    provisioned = next((each for each in conditions if each.type == PROVISIONED), None)
    if provisioned is None:
        return Standing(Phase.WAITING)
    if provisioned.status == "True":
        return Standing(Phase.BOOKED, instant_of(provisioned.last_transition_time or ""))
    asked = provisioned.reason == REQUESTED
    return Standing(Phase.REQUESTED if asked else Phase.WAITING)


def accepted(text: str) -> SaidCondition:
    return SaidCondition(ACCEPTED, True, "Accepted", text)


def not_accepted(reason: str, text: str) -> SaidCondition:
    return SaidCondition(ACCEPTED, False, reason, text)


def provisioned(reason: str, text: str) -> SaidCondition:
    return SaidCondition(PROVISIONED, True, reason, text)


def not_provisioned(reason: str, text: str) -> SaidCondition:
    return SaidCondition(PROVISIONED, False, reason, text)


def failed(reason: str, text: str) -> tuple[SaidCondition, ...]:
    return not_provisioned(reason, text), SaidCondition(FAILED, True, reason, text)


def booking_expired(text: str) -> SaidCondition:
    return SaidCondition(BOOKING_EXPIRED, True, "BookingExpired", text)


def capacity_revoked(reason: str, text: str) -> SaidCondition:
    return SaidCondition(CAPACITY_REVOKED, True, reason, text)


def status_patch(
    request: ProvisioningRequest, said: Sequence[SaidCondition], at: str
) -> dict[str, object] | None:
    """None: it says so already. Conditions of others stay as they are."""
    cut = [SaidCondition(each.type, each.holds, each.reason, _cut(each.text)) for each in said]
    before = request.status.conditions
    conditions = merged(before, cut, request.metadata.generation, at)
    if conditions == before:
        return None
    return {"status": {"conditions": [condition_json(each) for each in conditions]}}


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 3]}..."
