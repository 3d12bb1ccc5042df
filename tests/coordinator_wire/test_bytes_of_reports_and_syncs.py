"""A report and a sync to the byte, field by field: what every implementation sends and reads."""

from dataclasses import replace

from bigfleet.admin.v1alpha1 import coordinator_admin_pb2 as pb
from bigfleet.model.coordination import (
    ProviderEntry,
    QuotaGrant,
    ReportedShortfall,
    SyncReply,
    SyncRequest,
)
from bigfleet.model.coordinator_calls import CoordinatorInstruction, InstructionKind, ReportReply
from bigfleet.model.ownership import PROVIDER_KEY, MachineOverride, OwnershipView
from bigfleet.v1alpha1 import coordinator_pb2 as contract
from bigfleet.wire.coordination import fitting_report_view
from bigfleet.wire.ownership_views import ViewWriter
from bigfleet.wire.shard_reports import (
    MOST_INSTRUCTED_BYTES,
    reply_bytes,
    reply_of,
    report_bytes,
    report_of,
)
from bigfleet.wire.shard_syncs import sync_bytes, sync_of, sync_reply_bytes, sync_reply_of
from tests.coordinator_wire import samples


def content(*pieces: str) -> bytes:
    return bytes.fromhex("".join(pieces))


REPORT = content(
    "0a0773686172642d30",  # 1 shard_id
    "1007180b2002",  # 2 cycle, 3 timestamp, 4 epoch
    "2a26080310011a060a026133100322070a037a2d61100222070a037a2d6210013a06703a39303030",  # 5 summary
    "323c0a280a206e6f64652e6b756265726e657465732e696f2f696e7374616e63652d7479706510011a026133",
    "120a0a080a03637075120134180528063002",  # 6 shortfall: requirements; deficit, 3, 5, 6
    "3a0f0a02693110041a076e6f20726f6f6d",  # 7 ack
    "4206683a37373830",  # 8 address
)
SYNC = SyncRequest(
    shard_id="shard-0",
    epoch=2,
    cycle=7,
    ownership_revision=4,
    cluster_ids=("shop",),
    providers=(ProviderEntry("sim", "p:9000", "eu"),),
    held_overrides=(MachineOverride("m-1", "", "shard-0", "t1"),),
    held_pairs=((samples.ZONE, "z-a"), (PROVIDER_KEY, "p:9000")),
)
SYNC_BYTES = content(
    "0a0773686172642d3010021804",  # 1 shard_id, 2 epoch, 3 revision
    "220473686f70",  # 4 cluster
    "2a110a0373696d1206703a393030301a026575",  # 5 provider
    "5007",  # 10 cycle
    "5a120a036d2d311a0773686172642d3022027431",  # 11 override, without an owner
    "6a2b0a1b746f706f6c6f67792e6b756265726e657465732e696f2f7a6f6e65",  # 13 domain held: key,
    "12037a2d611a0773686172642d30",  # value, shard
    "72110a06703a39303030120773686172642d30",  # 14 default held
)
REPLY = SyncReply(
    term=3,
    ownership=OwnershipView.of(
        5,
        ("zone",),
        {("zone", "a"): "s1", ("zone", "b"): ""},
        [MachineOverride("m-1", "s2", "s1", "t1")],
        {"p:1": "s1"},
    ),
    quotas=(QuotaGrant("sim", "eu", 12),),
    next_sync_millis=500,
    merging=True,
)
REPLY_BYTES = content(
    "08031240",  # 1 term, 2 ownership of 64 bytes:
    "080512047a6f6e65",  # revision, key
    "1a0d0a047a6f6e651201611a027331",  # a domain
    "1a090a047a6f6e65120162",  # a domain without an owner
    "22110a036d2d31120273321a02733122027431",  # an override
    "2a090a03703a3112027331",  # a default owner
    "1a0b0a0373696d12026575180c",  # 3 grant
    "48f4035801",  # 9 next sync, 11 merging
)


def test_a_report_is_these_bytes() -> None:
    assert report_bytes(samples.REPORT) == REPORT
    assert report_of(contract.ShardReport.FromString(REPORT)) == samples.REPORT


def test_a_sync_is_these_bytes() -> None:
    assert sync_bytes(SYNC) == SYNC_BYTES
    assert sync_of(pb.SyncShardRequest.FromString(SYNC_BYTES)) == SYNC


def test_the_answer_to_a_sync_is_these_bytes() -> None:
    assert sync_reply_bytes(REPLY, ViewWriter()) == REPLY_BYTES
    assert sync_reply_of(REPLY_BYTES) == REPLY


def test_instructions_that_do_not_fit_come_with_the_next_answer() -> None:
    machines = tuple(f"{n:06}" + "m" * 994 for n in range(10_000))
    told = tuple(
        CoordinatorInstruction(
            f"i{n}", InstructionKind.REASSIGN_SPECULATIVE, 3, n, machine_ids=machines
        )
        for n in range(5)
    )
    content = reply_bytes(ReportReply(3, True, told))
    assert len(content) <= MOST_INSTRUCTED_BYTES
    assert reply_of(content).instructions == told[:3]


def test_an_instruction_that_is_too_large_by_itself_is_told_all_the_same() -> None:
    machines = ("m" * (MOST_INSTRUCTED_BYTES + 1),)
    told = CoordinatorInstruction(
        "i1", InstructionKind.REASSIGN_SPECULATIVE, 3, 1, machine_ids=machines
    )
    assert reply_of(reply_bytes(ReportReply(3, True, (told, told)))).instructions == (told,)


def test_reports_that_are_listed_together_share_the_room() -> None:
    row = ReportedShortfall(samples.FOUR, 5, 6, 2)
    view = replace(samples.REPORT_VIEW, shortfalls=(row,) * 1000)
    assert len(fitting_report_view(view, 1_000_000).shortfalls) == 1000
    cut = fitting_report_view(view, 2_000)
    assert 0 < len(cut.shortfalls) < 1000
    assert cut.ByteSize() <= 2_000
    alone = fitting_report_view(view, 30)
    assert (len(alone.shortfalls), alone.summary.total_machines) == (0, 3)
