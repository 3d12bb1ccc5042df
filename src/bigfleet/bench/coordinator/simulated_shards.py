"""What a simulated shard must know of the answer to its sync, without reading the rest of it.

A view of a hundred thousand domains takes a shard a tenth of a second to read, on a machine of its
own. Two hundred shards that live in one process beside their coordinator would leave it no
processor; so of the view only its revision is read.

Shards that only report and sync: many in one process, each on a line of its own.

What they send is what shards send; each answer is timed from the moment its request is handed to
the line. They do what they are told at once and say so with the next report. Asked by a line on its
standard input, the process tells what it saw since it was last asked.
"""

import asyncio
import json
import sys
import time
from dataclasses import dataclass, replace
from random import Random

from bigfleet.bench.coordinator.load_fleet import EPOCH, CoordinatorScale, report_of, sync_of
from bigfleet.bench.processes import answer_lines
from bigfleet.model.coordination import OfferReply, SyncRequest
from bigfleet.model.coordinator_calls import AckOutcome, InstructionAck, ShardReport
from bigfleet.model.provider_calls import Rejected
from bigfleet.model.shard_views import ShardSummary
from bigfleet.wire.client_line import ClientLine
from bigfleet.wire.coordinator_admin import REPORT_SHARD, SYNC_SHARD
from bigfleet.wire.shard_reports import reply_of, report_bytes
from bigfleet.wire.shard_syncs import sync_bytes, sync_reply_of

#: Fields of SyncShardResponse, and the first one of its view.
_OWNERSHIP, _OFFERS, _NEXT_SYNC_MILLIS, _REVISION = 2, 5, 9, 1
#: Wire types: a number, and something with its length before it.
_VARINT, _LENGTH = 0, 2


@dataclass(frozen=True, slots=True)
class SyncHead:
    #: Of the view; 0: there is none.
    revision: int
    next_sync_millis: int
    offers: int


def sync_head_of(content: bytes) -> SyncHead:
    """Of the bytes of a SyncShardResponse; ValueError where they hold what it does not."""
    revision = millis = offers = place = 0
    while place < len(content):
        tag, place = _number(content, place)
        value, place = _number(content, place)
        field, kind = tag >> 3, tag & 7
        if kind == _LENGTH:
            if field == _OWNERSHIP:
                revision = _first_number(content[place : place + 16])
            offers += field == _OFFERS
            place += value
        elif kind != _VARINT:
            raise ValueError(f"field {field} of the answer is of wire type {kind}")
        elif field == _NEXT_SYNC_MILLIS:
            millis = value
    return SyncHead(revision, millis, offers)


def _first_number(content: bytes) -> int:
    tag, place = _number(content, 0)
    return _number(content, place)[0] if tag >> 3 == _REVISION else 0


def _number(content: bytes, place: int) -> tuple[int, int]:
    """A varint, and where it ends."""
    value = shift = 0
    while True:
        byte = content[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7


#: As the shards' own.
_DEADLINE_SECONDS = 5.0
_JITTER = 0.1
_LOOK_SECONDS = 0.005
_KEEPS = "it is short of such machines itself"


class ReceivedViews:
    """By all shards of the process since it was last told."""

    def __init__(self) -> None:
        self.view_bytes = 0
        self._forget()

    def told(self) -> dict[str, object]:
        told = dict(vars(self))
        self._forget()
        return told

    async def watch_itself(self) -> None:
        while True:
            due = time.perf_counter() + _LOOK_SECONDS
            await asyncio.sleep(_LOOK_SECONDS)
            self.late.append(time.perf_counter() - due)

    def _forget(self) -> None:
        #: Seconds of each call.
        self.reports: list[float] = []
        self.syncs: list[float] = []
        #: Of these, the ones that brought a view.
        self.views: list[float] = []
        self.instructions = 0
        self.offers = 0
        self.failures: list[str] = []
        #: How late this process came to its own timers: what is not the coordinator's.
        self.late: list[float] = []


class SimulatedShard:
    def __init__(
        self, address: str, scale: CoordinatorScale, number: int, seen: ReceivedViews
    ) -> None:
        self._line = ClientLine(address)
        self._scale = scale
        self._chance = Random(number)
        self._seen = seen
        self._id = report_of(scale, number).shard_id
        # Bytes behind each other are one message: what changes is written behind the rest.
        self._report = report_bytes(report_of(scale, number))
        self._sync = sync_bytes(sync_of(scale, number))
        self._cycle = 0
        self._revision = 0
        self._acks: tuple[InstructionAck, ...] = ()
        self._replies: tuple[OfferReply, ...] = ()

    async def live(self) -> None:
        """Begins somewhere within the first interval."""
        pause = self._scale.interval * self._chance.random()
        while True:
            await asyncio.sleep(pause)
            try:
                pause = await self._round()
            except Rejected as problem:
                self._seen.failures.append(str(problem))
                pause = 0.5

    async def _round(self) -> float:
        """Seconds until the next one."""
        self._cycle += 1
        acks, self._acks = self._acks, ()
        answer, took = await self._timed(REPORT_SHARD.path, self._report + self._changing(acks))
        self._seen.reports.append(took)
        told = reply_of(answer).instructions
        self._seen.instructions += len(told)
        self._acks = tuple(InstructionAck(each.id, AckOutcome.ACCEPTED) for each in told)
        replies, self._replies = self._replies, ()
        request = SyncRequest(self._id, EPOCH, self._cycle, self._revision, offer_replies=replies)
        answer, took = await self._timed(SYNC_SHARD.path, self._sync + sync_bytes(request))
        self._seen.syncs.append(took)
        head = sync_head_of(answer)
        if head.revision:
            self._revision = head.revision
            self._seen.views.append(took)
            self._seen.view_bytes = len(answer)
        if head.offers:
            offers = sync_reply_of(answer).offers
            self._replies = tuple(OfferReply(o.transfer, declined_reason=_KEEPS) for o in offers)
            self._seen.offers += len(offers)
        usual = self._scale.interval * (1 - _JITTER + 2 * _JITTER * self._chance.random())
        return min(usual, head.next_sync_millis / 1000) if head.next_sync_millis else usual

    def _changing(self, acks: tuple[InstructionAck, ...]) -> bytes:
        summary = ShardSummary(0, 0, {}, {})
        report = ShardReport(self._id, self._cycle, time.time_ns(), EPOCH, "", summary)
        return report_bytes(replace(report, acks=acks))

    async def _timed(self, path: str, request: bytes) -> tuple[bytes, float]:
        began = time.perf_counter()
        answer = await self._line.call(path, request, _DEADLINE_SECONDS)
        return answer, time.perf_counter() - began


async def _driven(address: str, scale: CoordinatorScale) -> None:
    seen = ReceivedViews()
    shards = [SimulatedShard(address, scale, n, seen) for n in range(scale.shards)]
    tasks = [asyncio.create_task(shard.live()) for shard in shards]
    tasks.append(asyncio.create_task(seen.watch_itself()))
    answering = asyncio.create_task(answer_lines(seen.told))
    # A shard that breaks ends the load test; it would measure less than it says.
    done, _ = await asyncio.wait({answering, *tasks}, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()


def main() -> None:
    """Arguments: the coordinator's address, and the scale as JSON."""
    address, scale = sys.argv[1:]
    asyncio.run(_driven(address, CoordinatorScale(**json.loads(scale))))
