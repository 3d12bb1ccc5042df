"""The one word every action ends with."""

from enum import StrEnum


class ActionOutcome(StrEnum):
    SUCCESS = "success"
    BLOB_TIMEOUT = "blob_timeout"
    NO_SESSION = "no_session"
    BLOB_ERROR = "blob_error"
    UNKNOWN_RESOLVED = "unknown_resolved"
    UNKNOWN_ROLLED_BACK = "unknown_rolled_back"
    STOCKOUT = "stockout"
    PROVIDER_ERROR = "provider_error"
    CONFIGURE_ERROR = "configure_error"
    DRAIN_ERROR = "drain_error"
    DELETE_ERROR = "delete_error"
    FENCED = "fenced"
    BAD_ACK = "bad_ack"
    TRANSITION_RACED = "transition_raced"
    TIMEOUT_CREATING = "timeout_creating"
    TIMEOUT_CONFIGURING = "timeout_configuring"
    TIMEOUT_DRAINING = "timeout_draining"
    TIMEOUT_DELETING = "timeout_deleting"
    CANCELLED = "cancelled"

    @property
    def succeeded(self) -> bool:
        return self in _SUCCEEDED

    @property
    def failed(self) -> bool:
        """Neither done nor overtaken by what happened meanwhile."""
        return self not in _FINE


_SUCCEEDED = frozenset({ActionOutcome.SUCCESS, ActionOutcome.UNKNOWN_RESOLVED})
_FINE = _SUCCEEDED | {ActionOutcome.TRANSITION_RACED, ActionOutcome.CANCELLED}


def outcome_of(text: str) -> ActionOutcome | None:
    """Of an outcome as it is noted: its word, and perhaps what was said; None: not such a word."""
    word = text.partition(":")[0]
    return ActionOutcome(word) if word in _WORDS else None


_WORDS = frozenset(ActionOutcome)
