"""A shard's line to the coordinators: reports and syncs out, every failure a Rejected.

One connection per address, kept while it is called and answers. Whom to call, and
when again, is the caller's decision; a coordinator that does not lead and knows who does is a
NotLeader, one that knows no SyncShard is UNIMPLEMENTED.
"""

import asyncio
from collections.abc import Callable, Collection
from typing import TypeVar

from google.protobuf.message import DecodeError

from bigfleet.model.coordination import SyncReply, SyncRequest
from bigfleet.model.coordinator_calls import ReportReply, ShardReport
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.wire.client_line import ClientLine
from bigfleet.wire.coordinator_admin import REPORT_SHARD, SYNC_SHARD
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.real_times import WireTimes
from bigfleet.wire.shard_reports import reply_of, report_bytes
from bigfleet.wire.shard_syncs import sync_bytes, sync_reply_of

T = TypeVar("T")

#: Bytes of an answer that are read beside the event loop: a view of all domains would block it for
#: too long.
_LARGE = 256 * 1024


class CoordinatorLines:
    def __init__(self, tls: TlsFiles | None = None, times: WireTimes | None = None) -> None:
        """`times`: of a shard that lives by a clock of its own."""
        self._tls = tls
        self._times = times
        self._lines: dict[str, ClientLine] = {}

    async def report(self, address: str, report: ShardReport, deadline: float) -> ReportReply:
        content = await asyncio.to_thread(report_bytes, report)
        answer = await self._call(address, REPORT_SHARD.path, content, deadline)
        return _read("ReportShard", reply_of, answer)

    async def sync(self, address: str, request: SyncRequest, deadline: float) -> SyncReply:
        content = await asyncio.to_thread(sync_bytes, request)
        answer = await self._call(address, SYNC_SHARD.path, content, deadline)
        if len(answer) < _LARGE:
            return _read("SyncShard", sync_reply_of, answer)
        return await asyncio.to_thread(_read, "SyncShard", sync_reply_of, answer)

    async def keep_only(self, addresses: Collection[str]) -> None:
        """Closes the lines to addresses that are not called any more."""
        for address in self._lines.keys() - set(addresses):
            await self._lines.pop(address).close()

    async def close(self) -> None:
        await self.keep_only(())

    async def _call(self, address: str, path: str, request: bytes, deadline: float) -> bytes:
        times = self._times
        if times is not None:
            request = times.request_sent(path, request)
        try:
            answer = await self._line(address).call(path, request, deadline)
            return answer if times is None else times.answer_received(path, answer)
        except Rejected as problem:
            # A line that failed would not dial again for seconds, even if the server is back.
            if problem.code is Code.UNAVAILABLE and (line := self._lines.pop(address, None)):
                await line.close()
            raise

    def _line(self, address: str) -> ClientLine:
        line = self._lines.get(address)
        if line is None:
            line = self._lines[address] = ClientLine(address, self._tls)
        return line


def _read(method: str, read: Callable[[bytes], T], answer: bytes) -> T:
    try:
        return read(answer)
    except (DecodeError, ValueError) as problem:
        text = f"the answer to {method} cannot be read: {problem}"
        raise Rejected(Code.INTERNAL, text) from None
