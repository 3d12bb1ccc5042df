"""ListMachines on the wire: the head of a listing, and its rows in frames."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.machines import Instant
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_views import MachinePage, MachineQuery, MachineView
from bigfleet.wire.machine_views import MACHINE_VIEW, QUERY
from bigfleet.wire.rpcs import ROWS_PER_FRAME, in_frames

#: Ids, zones and the like that a selector may name.
_MOST_SELECTED = 10_000
_EVERYTHING = MachineQuery()


@dataclass(frozen=True, slots=True)
class MachineListing:
    """The head of a listing and its rows, which are asked for one by one while they are sent."""

    cycle: int
    computed_at: Instant
    #: Matching machines, before limit and after_id.
    total: int
    machines: AsyncGenerator[MachineView, None]


class ListsMachines(Protocol):
    async def machines(self, query: MachineQuery) -> MachineListing: ...


def machines_request(query: MachineQuery = _EVERYTHING) -> pb.ListMachinesRequest:
    message = QUERY.message(query)
    message.rows_per_frame = ROWS_PER_FRAME
    return message


async def machine_frames(
    handler: ListsMachines, request: pb.ListMachinesRequest
) -> AsyncGenerator[pb.ListMachinesResponse, None]:
    wanted = request.selector
    many = (wanted.ids, wanted.zones, wanted.instance_types, wanted.labels)
    if max(map(len, many)) > _MOST_SELECTED:
        text = f"a selector names {_MOST_SELECTED} ids, zones, types or labels at most"
        raise Rejected(Code.INVALID_ARGUMENT, text)
    listing = await handler.machines(QUERY.record(request))
    header = pb.ListMachinesHeader(
        cycle=listing.cycle, computed_at_unix_nanos=listing.computed_at, total=listing.total
    )
    yield pb.ListMachinesResponse(header=header)
    async with (
        aclosing(listing.machines) as machines,
        aclosing(
            in_frames(
                (MACHINE_VIEW.message(view) async for view in machines),
                request.rows_per_frame,
                lambda row: pb.ListMachinesResponse(machine=row),
                lambda rows: pb.ListMachinesResponse(machines=rows),
            )
        ) as frames,
    ):
        async for frame in frames:
            yield frame


def machine_page(header: pb.ListMachinesHeader, machines: tuple[MachineView, ...]) -> MachinePage:
    return MachinePage(header.cycle, header.computed_at_unix_nanos, header.total, machines)
