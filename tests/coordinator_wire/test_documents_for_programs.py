"""What people see is also a document that reads back into the message it was made from."""

import json
from typing import Any

import pytest
from google.protobuf import json_format

from bigfleet.wire import coordination as records
from bigfleet.wire.record_codecs import RecordCodec
from bigfleet.wire.shard_views import PAUSE
from bigfleet.wire.snapshot_frames import snapshot_document
from tests.coordinator_wire import samples

SHOWN: dict[str, tuple[Any, RecordCodec[Any, Any]]] = {
    "a status": (samples.STATUS, records.STATUS),
    "a shard": (samples.SHARDS[0], records.SHARD),
    "a domain": (samples.DOMAINS[0], records.DOMAIN),
    "a report": (samples.REPORT_VIEW, records.REPORT_VIEW),
    "a quota": (samples.QUOTA, records.QUOTA),
    "a provider": (samples.PROVIDER, records.PROVIDER),
    "a binding": (samples.BINDING, records.BINDING),
    "a transfer": (samples.TRANSFER, records.TRANSFER),
    "an instruction": (samples.PENDING, records.PENDING),
    "a shortfall": (samples.SHORTFALL, records.SHORTFALL_VIEW),
    "shortfalls": (samples.SHORTFALLS, records.SHORTFALLS),
    "an event": (samples.EVENT, records.EVENT),
    "a pause": (samples.PAUSE, PAUSE),
}


@pytest.mark.parametrize(("record", "codec"), SHOWN.values(), ids=SHOWN)
def test_a_document_reads_back_into_its_message(record: Any, codec: RecordCodec[Any, Any]) -> None:
    text = json.dumps(codec.document(record))
    assert json_format.Parse(text, codec.message_type()) == codec.message(record)


def test_names_are_lower_camel_case_and_nothing_is_left_out() -> None:
    assert records.SHARD.document(samples.SHARDS[1]) == {
        "shardId": "shard-1",
        "address": "i:7780",
        "registeredAtUnixNs": 1,
        "lastHeartbeatUnixNs": 0,
    }
    assert records.TRANSFER.document(samples.TRANSFER)["state"] == "TRANSFER_STATE_RELEASING"
    assert records.TRANSFER.document(samples.TRANSFER)["holdSeconds"] == 45
    assert records.QUOTA.document(samples.QUOTA)["perShard"] == {"shard-0": 12}


def test_an_instruction_shows_what_it_orders_and_nothing_it_does_not() -> None:
    shown = records.PENDING.document(samples.PENDING)["instruction"]
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
