"""ShardAdmin.DumpFleet on the wire: the lines of a fleet file, as many as fit into a frame."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.provider_calls import Peer

METHOD = "DumpFleet"
#: A frame is sent when it has this many bytes; one line may make it longer.
FRAME_BYTES = 256 * 1024

Streaming = Callable[[bytes, Peer], AsyncGenerator[bytes, None]]


def dumping_fleets(lines: Callable[[], AsyncGenerator[bytes, None]]) -> Streaming:
    async def stream(_request: bytes, _peer: Peer) -> AsyncGenerator[bytes, None]:
        waiting: list[bytes] = []
        size = 0
        async with aclosing(lines()) as coming:
            async for piece in coming:
                waiting.append(piece)
                size += len(piece)
                if size >= FRAME_BYTES:
                    yield _frame(waiting)
                    waiting, size = [], 0
        if waiting:
            yield _frame(waiting)

    return stream


def _frame(lines: list[bytes]) -> bytes:
    return pb.DumpFleetResponse(lines=b"".join(lines)).SerializeToString()


def lines_in(frame: bytes) -> bytes:
    """Raises DecodeError where the frame cannot be read."""
    return pb.DumpFleetResponse.FromString(frame).lines
