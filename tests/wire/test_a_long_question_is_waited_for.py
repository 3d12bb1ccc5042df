"""A question that takes a minute has a deadline of its own; the others keep that of the client."""

from collections.abc import AsyncGenerator

from bigfleet.model.isolated import IsolatedCall
from bigfleet.wire.isolated import report_bytes
from bigfleet.wire.lines import Metadata
from bigfleet.wire.shard_admin import WHAT_IF_DEADLINE, ShardAdminClient
from tests.wire.isolated_answer import REPORT


class AskedLine:
    """Answers at once, and keeps how long it would have been waited for."""

    def __init__(self) -> None:
        self.deadlines: dict[str, float] = {}

    async def call(
        self, path: str, request: bytes, deadline: float, metadata: Metadata = ()
    ) -> bytes:
        method = path.rpartition("/")[2]
        self.deadlines[method] = deadline
        return report_bytes(REPORT) if method == "GetIsolated" else b""

    async def stream(self, path: str, request: bytes) -> AsyncGenerator[bytes, None]:
        yield b""

    async def close(self) -> None: ...


async def test_a_comparison_of_pools_is_waited_for_longer_than_a_status() -> None:
    client, line = ShardAdminClient("127.0.0.1:1", deadline=2.0), AskedLine()
    await client.close()
    client.line = line
    assert await client.isolated(IsolatedCall()) == REPORT
    await client.status()
    assert line.deadlines == {"GetIsolated": WHAT_IF_DEADLINE, "GetStatus": 2.0}
