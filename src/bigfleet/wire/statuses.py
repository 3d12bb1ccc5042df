"""gRPC's status codes and ours, one to one, and the reason that rides beside them."""

from collections.abc import Iterable
from typing import Never

import grpc

from bigfleet.model.coordinator_calls import NotLeader
from bigfleet.model.provider_calls import Code, Rejected

#: Trailing metadata; clients may read it but must not need it.
REASON_KEY = "bigfleet-reason"
#: Of a coordinator that does not lead: host:port of the one that does.
LEADER_KEY = "bigfleet-leader"
#: Status text travels in HTTP headers, which both ends cap at 8 KiB together.
_LONGEST_TEXT = 1024

_STATUS_OF = {code: grpc.StatusCode[code.name] for code in Code}
_CODE_OF = {status: code for code, status in _STATUS_OF.items()}


def status_of(code: Code) -> grpc.StatusCode:
    return _STATUS_OF[code]


def rejected_of(problem: grpc.aio.AioRpcError) -> Rejected:
    code = _CODE_OF.get(problem.code(), Code.UNKNOWN)
    text, trailing = problem.details() or "", problem.trailing_metadata() or ()
    if code is Code.FAILED_PRECONDITION and (leader := _trailing(LEADER_KEY, trailing)):
        return NotLeader(text, leader)
    return Rejected(code, text, _trailing(REASON_KEY, trailing))


async def end_with(rejected: Rejected, context: "grpc.aio.ServicerContext[bytes, bytes]") -> Never:
    """Ends the call."""
    told = {REASON_KEY: rejected.reason}
    if isinstance(rejected, NotLeader):
        told[LEADER_KEY] = rejected.leader
    trailing = tuple((key, word) for key, word in told.items() if word)
    await context.abort(status_of(rejected.code), rejected.text[:_LONGEST_TEXT], trailing)


def _trailing(wanted: str, trailing: Iterable[tuple[str, str | bytes]]) -> str:
    """Empty where it is not there."""
    for key, value in trailing:
        if key == wanted:
            return value if isinstance(value, str) else value.decode(errors="replace")
    return ""
