"""What the journal keeps beside the cycles: how actions ended, stories of machines, events.

Events are lines of the log: the sentence is the same in both, and the table here says which of them
are kept. What happens too often for the log, such as a roll-up that was taken, is noted only.
Notes are bounded, and no decision depends on them.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bigfleet.model.coordinator_calls import (
    CoordinatorInstruction,
    NotYet,
    Obeyed,
    Refused,
)
from bigfleet.model.journal import JournalEvent
from bigfleet.model.shard_views import ActionView

#: Of one text: what providers and operators say has no end of its own.
MOST_CHARACTERS = 1000
#: The fact that says what an event is about; empty: it is about the shard.
SUBJECT_OF_EVENT = {
    **dict.fromkeys(
        (
            *("session_refused", "session_replaced", "session_stalled", "session_removed"),
            *("rollup_rejected", "rollup_held", "rollup_confirmed", "rollup_hold_ended"),
            *("rollup_released", "cluster_misbound"),
        ),
        "cluster",
    ),
    **dict.fromkeys(
        (
            *("list_quarantined", "list_quarantine_confirmed"),
            *("breaker_opened", "breaker_closed", "provider_unwritable", "provider_attached"),
        ),
        "provider",
    ),
    **dict.fromkeys(("offering_open", "offering_closed"), "offering"),
    **dict.fromkeys(("machine_failed", "machine_stuck", "verifier_incident"), "machine"),
    **dict.fromkeys(
        ("offer_made", "offer_declined", "transfer_draining", "transfer_adopted"), "transfer"
    ),
    **dict.fromkeys(("admin", "cycle_failed", "verifier_failed"), ""),
    "pause_unreadable": "subject",
}
_PEER = "peer"


def event_of(event: str, text: str, facts: Mapping[str, Any]) -> JournalEvent:
    """Of a line of the log."""
    told = {name: clipped(str(value)) for name, value in facts.items()}
    subject, peer = told.pop(SUBJECT_OF_EVENT[event], ""), told.pop(_PEER, "")
    return JournalEvent(event, subject, clipped(text), told, peer)


def instruction_event(told: CoordinatorInstruction, obeyed: Obeyed) -> JournalEvent | None:
    """None: it is still being carried out, and comes again with every report until it is."""
    facts = {
        "kind": told.kind.value,
        "term": str(told.term),
        "machines": str(len(told.machine_ids)),
    }
    if isinstance(obeyed, NotYet):
        return None
    if isinstance(obeyed, Refused):
        text = f"refused {told.kind.value} of the coordinator: {obeyed.why}"
    else:
        came = f": {obeyed.note}" if obeyed.note else ""
        text = f"carried out {told.kind.value} of the coordinator{came}"
    return JournalEvent("instruction", told.id, clipped(text), facts)


def outcome_note(ended: ActionView, text: str) -> ActionView:
    """How an action ended: why it was decided and for which Need stands in its cycle's record."""
    outcome = f"{ended.outcome}: {clipped(text)}" if text else ended.outcome
    return replace(ended, outcome=outcome, reason="", need=None)


def clipped(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"
