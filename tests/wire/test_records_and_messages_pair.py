"""Laws of the tables of fields: what is read from a message says the same when it is written."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from importlib import import_module
from typing import Any, cast

import pytest
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from hypothesis import HealthCheck, given, settings

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.cluster_reports import ClusterReportReply, NeedStanding
from bigfleet.model.pauses import PauseScope
from bigfleet.model.provider_calls import Rejected
from bigfleet.model.shard_views import NeedRow, NeedView
from bigfleet.v1alpha1 import shardread_pb2
from bigfleet.wire.record_codecs import ByHand, Conversion, Derived, RecordCodec, Unused
from tests.wire.test_round_trips import messages

MODULES = (
    "cluster_report_records",
    "coordination",
    "machine_views",
    "need_listings",
    "pause_rpcs",
    "shard_read",
    "shard_reports",
    "shard_syncs",
    "shard_views",
    "sync_records",
    "verifier_views",
)
#: Others may send what we would not: a shortage that is none, a claim of nothing wanted.
TIDIED = (NeedView, NeedRow, NeedStanding, ClusterReportReply)
QUICK = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))


def codecs() -> Iterator[RecordCodec[Any, Message]]:
    seen: set[int] = set()
    for module in MODULES:
        for value in vars(import_module(f"bigfleet.wire.{module}")).values():
            if isinstance(value, RecordCodec) and id(value) not in seen:
                seen.add(id(value))
                yield value


@pytest.mark.parametrize("codec", list(codecs()), ids=lambda codec: codec.record_type.__name__)
def test_a_record_survives_its_message_and_a_document_reads_back(
    codec: RecordCodec[Any, Message],
) -> None:
    """What is refused is a ValueError, of a request a Rejected; nothing else."""

    @QUICK
    @given(messages(cast(Descriptor, codec.message_type.DESCRIPTOR)))
    def survives(message: Message) -> None:
        try:
            record = codec.record(message)
        except (ValueError, Rejected):
            return
        if codec.record_type in TIDIED:
            record = codec.record(codec.message(codec.record(codec.message(record))))
        written = codec.message(record)
        assert codec.record(written) == record
        assert json_format.ParseDict(codec.document(record), codec.message_type()) == written

    survives()


class Colour(IntEnum):
    RED = 1


class Unmet(StrEnum):
    PRIORITY_STARVED = "starved"


@dataclass(frozen=True, slots=True)
class Held:
    kind: Colour
    subject: str = ""
    since: int | None = None


HELD = RecordCodec(
    Held,
    pb.Quarantine,
    *map(Unused, ("baseline", "observed", "consecutive", "required")),
    Unused("accepts_after_unix_nanos"),
    Derived("what", "subject"),
)


def test_names_and_types_say_how_an_attribute_is_carried() -> None:
    message = HELD.message(Held(Colour.RED, "shop"))
    assert message == pb.Quarantine(kind=pb.QUARANTINE_KIND_ROLLUP, subject="shop", what="shop")
    assert HELD.record(message) == Held(Colour.RED, "shop", None)
    assert HELD.record(pb.Quarantine(kind=pb.QUARANTINE_KIND_ROLLUP, since_unix_nanos=5)).since == 5
    with pytest.raises(ValueError, match="2 is not a valid Colour"):
        HELD.record(pb.Quarantine(kind=pb.QUARANTINE_KIND_PROVIDER_LIST))


def test_an_enum_of_texts_is_carried_by_its_name() -> None:
    @dataclass(frozen=True, slots=True)
    class Why:
        unmet_reason: Unmet

    others = [
        Unused(f.name) for f in shardread_pb2.NeedView.DESCRIPTOR.fields if f.name != "unmet_reason"
    ]
    why = RecordCodec(Why, shardread_pb2.NeedView, *others)
    message = why.message(Why(Unmet.PRIORITY_STARVED))
    assert message.unmet_reason == shardread_pb2.UNMET_REASON_PRIORITY_STARVED
    assert why.record(message) == Why(Unmet.PRIORITY_STARVED)
    with pytest.raises(ValueError, match="0 is not a valid Unmet"):
        why.record(shardread_pb2.NeedView())


@dataclass(frozen=True, slots=True)
class Wider:
    shard_ids: tuple[str, ...] = ()
    cluster_ids: tuple[str, ...] = ()
    rebalance_only: bool = False
    colour: str = ""


@dataclass(frozen=True, slots=True)
class Odd:
    kinds: object = None


REST = tuple(map(Unused, ("shard_ids", "cluster_ids", "rebalance_only")))
UNPAIRED = {
    "an attribute without a field": (
        RecordCodec(Wider, shared.PauseScope, Unused("kinds")),
        "Wider.colour has no field in PauseScope",
    ),
    "a field without an attribute": (
        RecordCodec(
            Held, shared.PauseScope, subject="shard_ids", kind="kinds", since="cluster_ids"
        ),
        "differ in rebalance_only",
    ),
    "a field that two attributes name": (
        RecordCodec(Wider, shared.PauseScope, Unused("kinds"), colour="shard_ids"),
        "Wider.colour has no field",
    ),
    "an attribute that the record does not have": (
        RecordCodec(PauseScope, shared.PauseScope, size="kinds"),
        "differ in size",
    ),
    "a type that says nothing": (
        RecordCodec(Odd, shared.PauseScope, *REST),
        "Odd.kinds: say how",
    ),
}


@pytest.mark.parametrize(("codec", "why"), UNPAIRED.values(), ids=UNPAIRED)
def test_a_record_and_a_message_that_do_not_pair_are_refused(
    codec: RecordCodec[Any, Message], why: str
) -> None:
    with pytest.raises(TypeError, match=why):
        codec.check()


def test_what_does_not_pair_one_by_one_is_written_by_hand() -> None:
    both = ByHand(
        ("kinds",),
        ("kinds", "cluster_ids"),
        lambda odd: {"kinds": [1], "cluster_ids": [str(odd.kinds)]},
        lambda message: {"kinds": message.cluster_ids[0]},
    )
    odd = RecordCodec(Odd, shared.PauseScope, both, Unused("shard_ids"), Unused("rebalance_only"))
    assert odd.record(odd.message(Odd("x"))) == Odd("x")
    given_by_hand = RecordCodec(
        Odd, shared.PauseScope, *REST, kinds=Conversion(lambda kind: [kind], len)
    )
    assert given_by_hand.record(given_by_hand.message(Odd(3))) == Odd(1)
