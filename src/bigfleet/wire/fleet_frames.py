"""ShardAdmin.DumpFleet on the wire: whole lines of a fleet file, many to a frame."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb

#: A frame of a fleet file is sent when it has this many bytes; one line may make it longer.
FRAME_BYTES = 256 * 1024


class FleetHandler(Protocol):
    def dump_fleet(self) -> AsyncGenerator[bytes, None]:
        """Whole lines of a fleet file."""


async def fleet_frames(
    handler: FleetHandler, _request: pb.DumpFleetRequest
) -> AsyncGenerator[pb.DumpFleetResponse, None]:
    waiting: list[bytes] = []
    size = 0
    async with aclosing(handler.dump_fleet()) as lines:
        async for piece in lines:
            waiting.append(piece)
            size += len(piece)
            if size >= FRAME_BYTES:
                yield pb.DumpFleetResponse(lines=b"".join(waiting))
                waiting, size = [], 0
    if waiting:
        yield pb.DumpFleetResponse(lines=b"".join(waiting))
