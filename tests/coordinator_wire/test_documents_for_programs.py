"""What people see is also a document that reads back into the message it was made from."""

import json

import pytest
from google.protobuf import json_format
from google.protobuf.message import Message

from bigfleet.wire import coordination as records
from bigfleet.wire.coordinator_documents import Shown, document_of, snapshot_document
from bigfleet.wire.shard_views import pause_message
from tests.coordinator_wire import samples

SHOWN: dict[str, tuple[Shown, Message]] = {
    "a status": (samples.STATUS, records.status_message(samples.STATUS)),
    "a shard": (samples.SHARDS[0], records.shard_message(samples.SHARDS[0])),
    "a domain": (samples.DOMAINS[0], records.domain_message(samples.DOMAINS[0])),
    "a report": (samples.REPORT_VIEW, records.report_view_message(samples.REPORT_VIEW)),
    "a quota": (samples.QUOTA, records.quota_message(samples.QUOTA)),
    "a provider": (samples.PROVIDER, records.provider_message(samples.PROVIDER)),
    "a binding": (samples.BINDING, records.binding_message(samples.BINDING)),
    "a transfer": (samples.TRANSFER, records.transfer_message(samples.TRANSFER)),
    "an instruction": (samples.PENDING, records.pending_message(samples.PENDING)),
    "an event": (samples.EVENT, records.event_message(samples.EVENT)),
    "a pause": (samples.PAUSE, pause_message(samples.PAUSE)),
}


@pytest.mark.parametrize(("record", "message"), SHOWN.values(), ids=SHOWN)
def test_a_document_reads_back_into_its_message(record: Shown, message: Message) -> None:
    text = json.dumps(document_of(record))
    assert json_format.Parse(text, type(message)()) == message


def test_names_are_lower_camel_case_and_nothing_is_left_out() -> None:
    assert document_of(samples.SHARDS[1]) == {
        "shardId": "shard-1",
        "address": "i:7780",
        "registeredAtUnixNs": 1,
        "lastHeartbeatUnixNs": 0,
    }
    assert document_of(samples.TRANSFER)["state"] == "TRANSFER_STATE_RELEASING"
    assert document_of(samples.TRANSFER)["holdSeconds"] == 45
    assert document_of(samples.QUOTA)["perShard"] == {"shard-0": 12}


def test_an_instruction_shows_what_it_orders_and_nothing_it_does_not() -> None:
    shown = document_of(samples.PENDING)["instruction"]
    assert shown["transferOwnership"] == {
        "machineIds": ["m-3"],
        "fromShardId": "shard-0",
        "toShardId": "shard-1",
    }
    assert "assignDomain" not in shown


def test_a_snapshot_is_told_by_what_it_is() -> None:
    meta = samples.snapshot_of(b"{}").meta
    assert snapshot_document(meta) == {
        "id": "s-1",
        "revision": 18,
        "term": 3,
        "bytes": 2,
        "backend": "sqlite",
        "sha256": meta.sha256,
        "createdUnixNanos": 23,
    }
