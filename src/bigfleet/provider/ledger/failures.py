"""Why a machine is FAILED: the reasons that may stand in `last_error`, and its one form."""

from enum import StrEnum

#: Substrate errors quote whole documents; nobody needs more than this of them.
TEXT_LIMIT = 1024


class Reason(StrEnum):
    ERROR = "error"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"
    READINESS = "readiness"
    STOCKOUT = "stockout"
    QUOTA = "quota"
    VANISHED = "vanished"
    SPOT = "spot"


def last_error_of(reason: Reason, text: str) -> str:
    """`<reason>: <text>`, the text cut at 1 KiB without splitting a character."""
    cut = text.encode("utf-8", "replace")[:TEXT_LIMIT].decode("utf-8", "ignore")
    return f"{reason}: {cut}"


def reason_of(last_error: str) -> Reason:
    """The reason a stored `last_error` begins with; ERROR for texts that are not ours."""
    word = last_error.partition(":")[0]
    return Reason(word) if word in set(Reason) else Reason.ERROR
