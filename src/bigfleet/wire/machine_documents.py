"""Machines as rows of JSON, from the messages as they came: a page has hundreds of them."""

from dataclasses import dataclass
from typing import Any

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.machines import Instant
from bigfleet.model.needs import NeedKey
from bigfleet.model.shard_views import MachineQuery, MachineView
from bigfleet.wire.machine_views import MACHINE_VIEW
from bigfleet.wire.record_codecs import Document, message_document
from bigfleet.wire.shard_admin import ShardAdminClient


@dataclass(frozen=True, slots=True)
class MachineDocuments:
    cycle: int
    computed_at: Instant
    #: Before limit and after_id.
    total: int
    rows: tuple[Document, ...]


async def listed_machines(client: ShardAdminClient, query: MachineQuery) -> MachineDocuments:
    header, rows = await ShardAdminClient.machines.rows(client, _row, query)
    return MachineDocuments(header.cycle, header.computed_at_unix_nanos, header.total, rows)


def machine_document(view: MachineView) -> Document:
    return _row(MACHINE_VIEW.message(view))


def _row(message: pb.MachineView) -> Document:
    """As `bigfleet machines -o json`, and what a page shows beside it."""
    document = message_document(message)
    machine = document["machine"]
    shown: dict[str, Any] = {
        "id": machine["id"],
        **document,
        "hourlyCost": machine["pricePerHour"],
        "sinceUnixNanos": document["stateSinceUnixNanos"],
    }
    if message.claimed and message.HasField("need"):
        shown["needId"] = _need_id(document["need"])
    if (held := document.get("reservation")) is not None:
        holder = held.get("need", {})
        shown["reservedFor"] = {
            "need": f"need/{holder.get('clusterId', '')}/{_need_id(holder)}",
            "kind": held["kind"],
            "expiresUnixNanos": held["expiresUnixNanos"] or None,
        }
    if message.withheld_by_quota:
        shown["held"] = {"by": "quota"}
    return shown


def _need_id(ref: Document) -> str:
    names = ("clusterId", "profileFingerprint", "group")
    return NeedKey(*(ref.get(name, "") for name in names)).need_id
