"""What can be wrong is a finding: a sentence of facts, and a command that can be typed."""

import shlex
from dataclasses import replace
from typing import Any

import pytest

from bigfleet.model.coordination import CoordinatorStatus, QuotaAllocation
from bigfleet.model.findings import Finding, findings_of_fleet, findings_of_shard
from bigfleet.model.machines import CapacityType
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import Pause, PauseSource
from bigfleet.model.shard_views import (
    CoordinatorLink,
    MachineLoss,
    NeedCounts,
    OfferingState,
    OfferingView,
    ProviderStatus,
    Quarantine,
    QuarantineKind,
    ShardStatus,
)
from tests.cli.test_commands_on_pages_can_be_typed import why_unknown

T0 = 1_700_000_000 * SECOND
SINCE = "2023-11-14T22:13:20Z"
PROVIDER = ProviderStatus("sim", "h:9000", last_list_at=T0, machines=3)
WELL = ShardStatus(
    shard_id="shard-0",
    epoch=1,
    version="1",
    cycle=9,
    last_cycle_at=T0,
    last_cycle_seconds=0.01,
    not_ready_reason="",
    sessions=1,
    machines=3,
    needs=2,
    shortfalls=0,
    pauses=(),
    dry_run=False,
    queue_depth=0,
    in_flight=0,
    providers=(PROVIDER,),
    coordinator=CoordinatorLink("c:7790", connected=True),
    need_states=NeedCounts(met=1, arriving=1),
    data_dir="/var/lib/my shard",
)
PAUSE = Pause("7f01", PauseSource.RPC, owner="ada", reason="release", created_at=T0)
QUOTA = QuotaAllocation("sim", "", 3, {"shard-0": 3}, {"shard-0": 2, "shard-1": 1})
RESTING = OfferingView(
    "sim/std-8/a/Spot", OfferingState.OPEN, "stockout", 1, T0, T0 + 60 * SECOND, "stockout: none"
)
HELD = Quarantine(QuarantineKind.ROLLUP, "shop", 40, 0, 1, 3, T0, T0 + 20 * SECOND)
SPOT = MachineLoss(
    "failed", "shop", "sim", CapacityType.SPOT, 3, T0, T0 + 2 * SECOND, "sp-1", "spot: taken back"
)
NODES = MachineLoss("node_gone", "shop", "sim", CapacityType.SPOT, 2, T0, T0, "sp-2")

CASES: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "a provider that does not answer",
        {"providers": (replace(PROVIDER, breaker_open=True, last_error="refused"),)},
        f"provider sim has not answered since {SINCE} (refused); nothing new is asked of it",
        "bigfleet needs --unmet",
    ),
    (
        "a pause",
        {"pauses": (PAUSE, replace(PAUSE, source=PauseSource.COORDINATOR))},
        f"everything is paused by ada since {SINCE}, until lifted: release",
        "bigfleet resume 7f01 --reason WHY",
    ),
    (
        "a pause of the flag",
        {"pauses": (replace(PAUSE, source=PauseSource.FLAG, owner="", reason=""),)},
        f"everything is paused by flag since {SINCE}, until lifted: no reason given",
        "",
    ),
    ("a dry run", {"dry_run": True}, "dry-run: decided, not executed", ""),
    (
        "a state that cannot be written",
        {"store_error": "state.db: the disk is full"},
        "state.db cannot be written (state.db: the disk is full); no new drain is begun",
        "df -h '/var/lib/my shard'",
    ),
    (
        "a journal that cannot be written",
        {"journal_degraded": True, "journal_error": "no room", "store_error": "no room"},
        "no room: decisions go on, and are not recorded",
        "df -h '/var/lib/my shard'",
    ),
    (
        "a coordinator that does not answer",
        {"coordinator": CoordinatorLink("c:7790", connected=False, last_error="refused")},
        "coordinator c:7790 does not answer (refused): the shard goes on with what it has",
        "bigfleet status --coordinator c:7790",
    ),
    (
        "roll-ups that are refused",
        {"clusters_refused": 2},
        "the roll-ups of 2 clusters are refused: the last demand that was taken stays in force",
        "bigfleet clusters",
    ),
    (
        "an incident of the verifier",
        {"verifier_incidents": 1, "verifier_incident": "Delete of bm-1 (V2)"},
        "vetoed by the verifier: Delete of bm-1 (V2)",
        "bigfleet reports verifier",
    ),
    (
        "a verifier that fails",
        {"verifier_error": "broken"},
        "the verifier fails (broken): nothing is reclaimed, preempted or deleted",
        "bigfleet reports verifier",
    ),
    (
        "machines that failed",
        {"failed_machines": 4},
        "4 machines are Failed",
        "bigfleet machines --failed",
    ),
    (
        "a spot wave",
        {"losses": (SPOT, replace(SPOT, cluster="ml", machines=2, last_at=T0))},
        f"ml, shop lost 5 Spot machines since {SINCE}, the last at 2023-11-14T22:13:22Z: provider"
        " sim calls them Failed (spot: taken back)",
        "bigfleet needs --unmet",
    ),
    (
        "lost Nodes",
        {"losses": (NODES, replace(NODES, capacity_type=CapacityType.RESERVED))},
        f"cluster shop lost 4 machines since {SINCE}, the last at {SINCE}: their Nodes are gone",
        "bigfleet machines story sp-2",
    ),
    (
        "lost Nodes that are doubted",
        {"lost_waiting": 9},
        "clusters report 9 lost machines that are not given up yet: of one cluster only a fifth"
        " goes at a time, and more than half of it must stay lost for 5 min first",
        "bigfleet clusters",
    ),
    (
        "needs that wait",
        {"need_states": NeedCounts(met=1, blocked=2, short=3), "stuck_pods": 7},
        "5 of 6 needs wait: 2 blocked, 3 short, 7 pods stuck",
        "bigfleet needs --unmet",
    ),
    (
        "pods that wait for nothing but their scheduler",
        {"need_states": NeedCounts(met=1, arriving=2), "stuck_pods": 49},
        "49 pods wait although their machines are there",
        "bigfleet needs --unmet",
    ),
]


def test_a_shard_that_is_well_has_no_findings() -> None:
    assert findings_of_shard(WELL, (), ()) == []


@pytest.mark.parametrize(
    ("changed", "text", "command"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_what_is_wrong_with_a_shard(changed: dict[str, Any], text: str, command: str) -> None:
    [found] = findings_of_shard(replace(WELL, **changed), (), ())
    assert (found.reason.text, found.command) == (text, command)
    assert found.shards == ("shard-0",)
    assert_can_be_typed(found)


def test_what_is_held_as_suspicious() -> None:
    of_list = replace(HELD, kind=QuarantineKind.PROVIDER_LIST, subject="sim")
    rollup, listed = findings_of_shard(WELL, (HELD, of_list), ())
    until = "2023-11-14T22:13:40Z"
    assert rollup.reason.text == (
        f"roll-ups of cluster shop are held as suspicious since {SINCE} (0 of 40 came): it keeps"
        f" its machines, and is believed if it says the same after {until}"
    )
    assert rollup.command == "bigfleet quarantines release rollup shop --accept --reason WHY"
    assert listed.command == "bigfleet quarantines release list sim --accept --reason WHY"
    for each in (rollup, listed):
        assert_can_be_typed(each)


def test_offerings_that_rest_are_one_finding() -> None:
    [one] = findings_of_shard(WELL, (), (RESTING,))
    assert one.reason.text == (
        f"offering sim/std-8/a/Spot rests since {SINCE} after failed Creates (stockout: none):"
        " nothing is bought there before 2023-11-14T22:14:20Z"
    )
    assert one.command == "bigfleet reports offerings --reset sim/std-8/a/Spot --reason WHY"
    later = replace(RESTING, name="sim/std-8/b/Spot", next_probe_at=T0 + 90 * SECOND)
    [both] = findings_of_shard(WELL, (), (later, RESTING))
    assert both.reason.text.startswith("offering sim/std-8/a/Spot rests")
    assert both.reason.text.endswith("; so does 1 more")
    assert both.command == "bigfleet reports offerings"
    for each in (one, both):
        assert_can_be_typed(each)
    assert findings_of_shard(WELL, (), (replace(RESTING, state=OfferingState.HALF_OPEN),)) == []


def test_a_coordinator_adds_its_own() -> None:
    replica = CoordinatorStatus("c-0", True, "c:7790", 1, "sqlite", store_error="the disk is full")
    disk, quota = findings_of_fleet((), (replica,), (QUOTA, replace(QUOTA, total=4)), ())
    assert disk.reason.text.startswith("coordinator c-0 cannot write its store (the disk is full)")
    assert quota.reason.text == "all 3 machines granted of sim in no region are in use"
    assert quota.command == (
        "bigfleet quotas set --provider sim --region '' --total TOTAL --reason WHY"
    )
    assert_can_be_typed(quota)


def test_what_several_shards_say_is_told_once() -> None:
    """The coordinator's pause too, although it was made a moment before those of its shards."""
    paused = replace(WELL, pauses=(replace(PAUSE, created_at=T0 + SECOND),), failed_machines=1)
    other = replace(paused, shard_id="shard-1", failed_machines=2)
    of_shards = [findings_of_shard(each, (), ()) for each in (paused, other)]
    found = findings_of_fleet(of_shards, (), (), (PAUSE,))
    assert [(each.reason.code, each.shards) for each in found] == [
        ("rail.paused", ("shard-0", "shard-1")),
        ("machines.failed", ("shard-0",)),
        ("machines.failed", ("shard-1",)),
    ]


def test_a_name_cannot_add_words_to_a_command() -> None:
    hostile = replace(HELD, subject="shop; reboot $(now)")
    [found] = findings_of_shard(WELL, (hostile,), ())
    assert shlex.split(found.command)[4] == "shop; reboot $(now)"


def assert_can_be_typed(found: Finding) -> None:
    assert found.advice
    words = shlex.split(found.command)
    if words and words[0] == "bigfleet":
        assert not why_unknown(words[1:])
    document = found.document()
    assert document["text"] == found.reason.text
    assert document["command"] == found.command
