"""gRPC's status codes and ours, one to one, and the reason that rides beside them."""

from collections.abc import Iterable
from typing import Never

import grpc

from bigfleet.model.provider_calls import Code, Rejected

#: Trailing metadata; clients may read it but must not need it.
REASON_KEY = "bigfleet-reason"
#: Status text travels in HTTP headers, which both ends cap at 8 KiB together.
_LONGEST_TEXT = 1024

_STATUS_OF = {code: grpc.StatusCode[code.name] for code in Code}
_CODE_OF = {status: code for code, status in _STATUS_OF.items()}


def status_of(code: Code) -> grpc.StatusCode:
    return _STATUS_OF[code]


def rejected_of(problem: grpc.aio.AioRpcError) -> Rejected:
    code = _CODE_OF.get(problem.code(), Code.UNKNOWN)
    return Rejected(code, problem.details() or "", _reason_in(problem.trailing_metadata() or ()))


async def end_with(rejected: Rejected, context: "grpc.aio.ServicerContext[bytes, bytes]") -> Never:
    """Ends the call."""
    trailing = ((REASON_KEY, rejected.reason),) if rejected.reason else ()
    await context.abort(status_of(rejected.code), rejected.text[:_LONGEST_TEXT], trailing)


def _reason_in(trailing: Iterable[tuple[str, str | bytes]]) -> str:
    for key, value in trailing:
        if key == REASON_KEY:
            return value if isinstance(value, str) else value.decode(errors="replace")
    return ""
