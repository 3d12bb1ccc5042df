"""ShardAdmin.DumpFleet on the wire: whole lines of a fleet file, many to a frame."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.provider_calls import Code, Rejected

#: A frame of a fleet file is sent when it has this many bytes; one line may make it longer.
FRAME_BYTES = 256 * 1024


class FleetHandler(Protocol):
    def dump_fleet(self, cycle: int) -> AsyncGenerator[bytes, None]:
        """Whole lines of a fleet file; 0: of the last finished cycle."""


def dump_request(cycle: int = 0) -> pb.DumpFleetRequest:
    """0: the last finished cycle."""
    return pb.DumpFleetRequest(cycle=cycle)


async def fleet_frames(
    handler: FleetHandler, request: pb.DumpFleetRequest
) -> AsyncGenerator[pb.DumpFleetResponse, None]:
    if request.cycle < 0:
        raise Rejected(Code.INVALID_ARGUMENT, "cycle: a number from 0; 0 is the last finished one")
    waiting: list[bytes] = []
    size = 0
    async with aclosing(handler.dump_fleet(request.cycle)) as lines:
        async for piece in lines:
            waiting.append(piece)
            size += len(piece)
            if size >= FRAME_BYTES:
                yield pb.DumpFleetResponse(lines=b"".join(waiting))
                waiting, size = [], 0
    if waiting:
        yield pb.DumpFleetResponse(lines=b"".join(waiting))
