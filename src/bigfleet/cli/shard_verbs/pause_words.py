"""A pause in few words: what it stops, and until when."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bigfleet.model.pauses import Pause, PauseScope


def scope_text(scope: "PauseScope") -> str:
    from bigfleet.model.pauses import scope_text as text_of

    return text_of(scope)


def until_text(pause: "Pause") -> str:
    from bigfleet.model.instants import instant_text

    if pause.expires_at is None:
        return "until lifted"
    return f"until {instant_text(pause.expires_at // 1_000_000_000 * 1_000_000_000)}"


def ended_text(pause: "Pause") -> str:
    """When and how; empty: it is in force."""
    from bigfleet.model.instants import instant_text

    if pause.ended_at is None:
        return ""
    return f"{instant_text(pause.ended_at // 1_000_000_000 * 1_000_000_000)}, {pause.ended}"
