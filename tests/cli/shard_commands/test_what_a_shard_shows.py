"""The verbs that look: what a real shard answers, as tables and as JSON."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.cluster_reports import ClusterReport, NeedSources
from bigfleet.model.instants import instant_of
from bigfleet.model.shard_views import NeedCounts
from bigfleet.v1alpha1 import shardread_pb2
from bigfleet.wire.cluster_report_client import ClusterReportClient
from bigfleet.wire.handler_runner import HandlerRunner
from bigfleet.wire.provider_server import ExtraService
from bigfleet.wire.rpc_service import RpcService
from bigfleet.wire.shard_admin import SHARD_ADMIN, ShardAdminHandler
from bigfleet.wire.shard_read import SHARD_READ
from tests.cli.shard_commands.rig import (
    BOUGHT,
    FIRST,
    WHY,
    LiveShard,
    living_shard,
    need,
    run,
    steady,
)
from tests.wire.admin import ScriptedAdmin
from tests.wire.report_answers import REPORT
from tests.wire.sessions import ScriptedShard, line_to

STATUS = """\
shard-0 is ready; cycle N took N ms, AGE ago; 3 needs: 2 met, 1 short
SHARD EPOCH CYCLE SESSIONS MACHINES NEEDS SHORTFALLS QUEUED IN_FLIGHT VERSION
shard-0 1 N 2 14 3 1 0 0 1.2.3
1 finding:
- 1 of 3 needs waits: 1 short
next: why, and what helps each of them: bigfleet needs --unmet
PROVIDER ADDRESS MACHINES LISTED LISTS BREAKER ERROR
sim ADDRESS 14 AGE full closed -"""

WHY_NOT = (
    "14 of 14 machines fail node.kubernetes.io/instance-type in [gpu]; "
    "sim--bare-metal--std-8--a--000 has std-8"
)
NEEDS = f"""\
PRIORITY CLUSTER PROFILE DEMAND STATUS SHORT REASON AGE SHARD
1000 ml n20b8c927c653 instance-type=std-2 cpu 2 met - - - shard-0
100 shop nf8c05692a49e instance-type=std-8 cpu 22.5 met - - - shard-0
100 ml n96dafbd46a7a instance-type=gpu cpu 1 short cpu 1 NO_MATCHING_SUPPLY AGE shard-0
1 need: {WHY_NOT}
to lift it: add machines or offerings that fit, or ask for less
3 of 3 needs shown (2 met, 1 short), as of cycle N"""

MACHINES = """\
ID STATE CLUSTER TYPE ZONE CAPACITY $/H SINCE PENDING SHARD
sim--bare-metal--std-8--a--000 Configured shop std-8 a BareMetal 0.00 AGE - shard-0
sim--bare-metal--std-8--a--001 Configured shop std-8 a BareMetal 0.00 AGE - shard-0
sim--bare-metal--std-8--a--002 Configured shop std-8 a BareMetal 0.00 AGE - shard-0
sim--on-demand--std-2--b--000 Configured ml std-2 b OnDemand 0.095 AGE - shard-0
sim--on-demand--std-2--b--001 Configured ml std-2 b OnDemand 0.095 AGE - shard-0
5 of 5 shown, as of cycle N"""

CLUSTERS = """\
CLUSTER SHARD SESSION NEEDS UNMET MACHINES BOUND_SINCE NODES REQUESTS COVERED_NOT_PLACED ARRIVING \
BLOCKED SHORT PAUSED
ml shard-0 open AGE 2 1 2 - - - - 0 0 1 -
shop shard-0 open AGE 1 0 3 - 2/3 4/5 1 0 0 0 -"""

SHOWN = f"""\
ml at shard-0, connected for AGE; 2 needs: 1 met, 1 short
Its operator reports neither Nodes nor pods.
PRIORITY CLUSTER PROFILE DEMAND STATUS SHORT REASON AGE
100 ml n96dafbd46a7a instance-type=gpu cpu 1 short cpu 1 NO_MATCHING_SUPPLY AGE
1 need: {WHY_NOT}
to lift it: add machines or offerings that fit, or ask for less"""

#: What a row says beside the NeedView that was there before it.
STATE_FIELDS = (
    *("state", "reason", "sinceUnixNanos", "remedy"),
    *("arrivingMachines", "stuckPods", "furtherReasons", "sources"),
)
ML = (need("ml", 2, priority=1000, kind="std-2"), need("ml", 1, kind="gpu"))


class OlderAdminService(RpcService[ShardAdminHandler]):
    """As a shard had it before Needs were listed with their states."""

    def rpc_handler(self, serving: HandlerRunner) -> grpc.GenericRpcHandler:
        return _Without(super().rpc_handler(serving), f"/{SHARD_ADMIN.name}/ListNeeds")


class _Without(grpc.GenericRpcHandler):
    def __init__(self, whole: grpc.GenericRpcHandler, left_out: str) -> None:
        self._whole = whole
        self._left_out = left_out

    def service(self, call: grpc.HandlerCallDetails) -> Any:
        return None if call.method == self._left_out else self._whole.service(call)


def reads_as(message: Message, document: Mapping[str, Any], *beside: str) -> bool:
    """Whether it is that message in lowerCamelCase, and nothing but what we say we add."""
    ParseDict({k: v for k, v in document.items() if k not in beside}, message)
    return all(name in document for name in beside)


async def test_a_living_shard_is_shown_in_tables(tmp_path: Path) -> None:
    async with (
        living_shard(tmp_path) as shard,
        shard.operator("shop", need("shop", 3)),
        shard.operator("ml", *ML),
    ):
        await _settled(shard)
        await _reported(shard)
        assert steady(await shard.shown("status"), (r"\d+(?= 2 14 3 1 )", "N")) == STATUS
        assert steady(await shard.shown("needs")) == NEEDS
        assert steady(await shard.shown("machines", "state=configured")) == MACHINES
        assert steady(await shard.shown("clusters")) == CLUSTERS
        assert steady(await shard.shown("clusters", "show", "ml")) == SHOWN
        shop = await shard.shown("clusters", "show", "shop")
        assert "all 1 need met" in shop
        assert "4 pods running, 2 waiting" in shop
        assert "1 pod wait although machines serve their Need" in shop


async def test_the_same_is_shown_as_the_admin_messages_in_json(tmp_path: Path) -> None:
    async with (
        living_shard(tmp_path) as shard,
        shard.operator("shop", need("shop", 3)),
        shard.operator("ml", *ML),
    ):
        await _settled(shard)
        status = await shard.document("status")
        rails = ("quarantines", "offerings", "findings")
        assert reads_as(pb.ShardStatus(), status, "queriedAt", *rails)
        assert (status["shardId"], status["sessions"], status["ready"]) == ("shard-0", 2, True)
        assert instant_of(status["queriedAt"])

        needs = await shard.document("needs")
        assert (len(needs["items"]), needs["totalNeeds"]) == (3, 3)
        for item in needs["items"]:
            # Of a Need that waits, once it is made.
            forecast = {"forecast": item.pop("forecast")} if "forecast" in item else {}
            view = {name: value for name, value in item.items() if name not in STATE_FIELDS}
            assert reads_as(shardread_pb2.NeedView(), view, "needId", "shardId")
            state = {name: item[name] for name in STATE_FIELDS}
            assert reads_as(pb.NeedRow(), {**state, **forecast})
        assert needs["needStates"] == {"met": 2, "arriving": 0, "blocked": 0, "short": 1}

        machines = await shard.document("machines", "cluster=shop")
        assert (await shard.document("machines", "--cluster", "shop"))["items"] == machines["items"]
        assert (len(machines["items"]), machines["total"]) == (3, 3)
        for item in machines["items"]:
            assert reads_as(pb.MachineView(), item, "shardId")
        assert machines["items"][0]["machine"]["state"] == "MACHINE_STATE_CONFIGURED"
        assert isinstance(machines["items"][0]["stateSinceUnixNanos"], int)

        story = await shard.document("machines", "story", FIRST)
        assert {event.pop("shardId") for event in story["events"]} == {"shard-0"}
        beside = ("queriedAt", "shards", "unreachable")
        assert reads_as(pb.GetMachineStoryResponse(), story, *beside) is True
        await _reported(shard)
        clusters = await shard.document("clusters")
        for item in clusters["items"]:
            assert reads_as(pb.SessionView(), item, "shardId", "unmet", "machines", "pauses")
        shown = await shard.document("clusters", "show", "ml")
        assert [row["state"] for row in shown["unmetNeeds"]] == ["NEED_STATE_SHORT"]
        ml, shop = clusters["items"]
        assert "report" not in ml
        assert shop["report"]["examples"][0]["pod"] == "web/front-1"
        assert (shop["report"]["nodesMissing"], shop["reportStale"]) == (3, False)
        verbs = (
            "quarantines",
            "pause list",
            "reports offerings",
            "reports thrash",
            "reports invoices",
        )
        for verb in (*verbs, "machines reservations"):
            listed = await shard.document(*verb.split())
            assert (listed["items"], bool(instant_of(listed["queriedAt"]))) == ([], True)


async def test_a_need_that_is_held_back_is_shown_with_what_lifts_it(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard:
        paused = await shard.document("pause", *WHY)
        pause = paused["items"][0]["pause"]["pauseId"]
        async with shard.operator("shop", need("shop", 3)):
            counts = shard.process.state.decision_loop
            await shard.until(lambda: counts.ledger.counts().blocked == 1)
            table = await shard.shown("needs", "--unmet")
            assert "blocked" in table
            assert "rail.paused" in table
            assert f"to lift it: bigfleet resume {pause} --reason WHY" in table
            assert "1 need: 1 blocked" in await shard.shown("status")
            assert "bigfleet needs --unmet" in await shard.shown("status")
            [item] = (await shard.document("needs", "--unmet"))["items"]
            assert (item["state"], item["reason"]["code"]) == ("NEED_STATE_BLOCKED", "rail.paused")
            await shard.shown("resume", pause, *WHY)
            await shard.until(lambda: counts.ledger.counts().met == 1)
            assert "all 1 need met" in await shard.shown("status")


async def test_an_older_shard_tells_what_was_planned_and_that_is_said(tmp_path: Path) -> None:
    people = ScriptedAdmin()
    services: list[ExtraService] = [
        OlderAdminService(SHARD_ADMIN, people),
        RpcService(SHARD_READ, people),
    ]
    async with line_to(ScriptedShard(), extra_services=services) as line:
        asked = ("--shard", line.client.address)
        for words in (("needs",), ("needs", "--unmet"), ("needs", "-o", "json")):
            result = await run(*words, *asked)
            assert result.exit_code == 0, result.output
            assert "older than this command" in result.stderr
        result = await run("needs", *asked)
        assert "planned" in result.stdout
        assert " met " not in result.stdout, "planned is not met"


async def test_needs_are_chosen_and_counted(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard, shard.operator("ml", *ML):
        await shard.until(lambda: shard.process.state.decision_loop.ledger.counts().met == 1)
        unmet = await shard.shown("needs", "--unmet")
        assert "1 of 1 unmet shown, 2 needs in all" in unmet
        assert "std-2" not in unmet
        first = await shard.shown("needs", "--limit", "1")
        assert "1 of 2 needs shown" in first
        assert "--limit 0 shows all" in first
        assert "gpu" not in first


async def test_needs_are_told_and_chosen_by_what_asks_for_them(tmp_path: Path) -> None:
    web, spare = need("shop", 1), need("shop", 1, priority=-10)
    mixed = need("shop", 1, priority=-5)
    told = tuple(
        NeedSources(each.key.fingerprint, "", *counts)
        for each, counts in ((spare, (0, 1, 0)), (mixed, (2, 0, 3)))
    )
    async with (
        living_shard(tmp_path) as shard,
        shard.operator("shop", web, spare, mixed),
        shard.operator("silent", need("silent", 1)),
        ClusterReportClient(shard.address) as reporter,
    ):
        await reporter.report(ClusterReport("shop", at=5, sources=told))
        await shard.until(lambda: len(shard.process.state.decision_loop.ledger) == 4)
        items = {each["needId"]: each for each in (await shard.document("needs"))["items"]}
        assert items[web.key.need_id]["sources"] == ["pod"]
        assert items[spare.key.need_id]["sources"] == ["buffer"]
        assert sorted(len(each["sources"]) for each in items.values()) == [0, 1, 1, 2]
        table = await shard.shown("needs")
        assert "std-8 (buffer)" in table
        assert "std-8 (pod, provisioning-request)" in table
        assert "1 of 4 needs shown" in await shard.shown("needs", "--source", "buffer")
        for words, count in (
            (("pod",), 2),
            (("provisioning-request",), 1),
            (("buffer", "provisioning-request"), 2),
        ):
            flags = [each for word in words for each in ("--source", word)]
            assert len((await shard.document("needs", *flags))["items"]) == count
        wrong = await shard.run("needs", "--source", "pods")
        assert wrong.exit_code == 2


async def test_a_margin_is_told_from_the_need_it_belongs_to(tmp_path: Path) -> None:
    own = need("shop", 2)
    margin = replace(need("shop", 1), group="margin")
    async with living_shard(tmp_path) as shard, shard.operator("shop", own, margin):
        await shard.until_bound("shop", 3)
        told = await shard.shown("needs")
        assert [line.count("std-8 (margin)") for line in told.splitlines()[1:3]] == [0, 1]
        assert "for pods that found no place: cpu 7.5 on 1 machine" in (
            await shard.shown("clusters", "show", "shop")
        )
        shown = await shard.document("clusters", "show", "shop")
        assert [row["needId"] for row in shown["margins"]] == [margin.key.need_id]


async def test_machines_are_chosen_by_terms_and_cut_at_a_limit(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard:
        idle = await shard.shown("machines", "state=idle", "--limit", "2")
        assert "2 of 12 shown" in idle
        assert "--limit 0 shows all" in idle
        free = await shard.document("machines", "state=idle,speculative", "capacity=on-demand")
        assert [item["machine"]["id"] for item in free["items"]] == [BOUGHT, f"{BOUGHT[:-1]}1"]
        one = await shard.document("machines", f"machine/{FIRST}")
        assert [item["machine"]["id"] for item in one["items"]] == [FIRST]
        assert (await shard.document("machines", "id=sim--on*"))["total"] == 2
        assert (await shard.document("machines", "label.no-such=x"))["items"] == []


async def test_the_story_of_a_machine_is_told_in_order(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard, shard.operator("shop", need("shop", 12)):
        await shard.until_bound("shop", 12)
        told = await shard.shown("machines", "story", f"machine/{FIRST}")
        assert told.startswith(f"machine/{FIRST} is Configured for cluster shop")
        assert "Idle -> Configuring" in told
        assert told.index("Idle -> Configuring") < told.index("Configure accepted")
        assert "idle match at $0.00/h" in told
        newest = await shard.document("machines", "story", FIRST, "--limit", "1")
        assert (len(newest["events"]), newest["truncated"]) == (1, True)


async def test_a_victim_is_shown_with_whom_it_waits_for(tmp_path: Path) -> None:
    async with (
        living_shard(tmp_path) as shard,
        shard.operator("batch", need("batch", 12, priority=1)),
    ):
        await shard.until_bound("batch", 12)
        async with shard.operator("shop", need("shop", 1, priority=1000)):
            drains = shard.process.state.parts.drains
            await shard.until(lambda: any(map(drains.intent, shard.bound_to("batch"))))
            kept = await shard.shown("machines", "reservations")
            assert kept.split()[:5] == ["MACHINE", "KIND", "FOR", "STATE", "EXPIRES"]
            assert "preemption" in kept
            assert "need/shop/n" in kept
            reserved = (await shard.document("machines", "reservations"))["items"]
            assert [reads_as(shared.Reservation(), item, "shardId") for item in reserved] == [True]
            assert "Preempt (" in await shard.shown("machines", "cluster=batch")


async def _reported(shard: LiveShard) -> None:
    async with ClusterReportClient(shard.address) as client:
        await client.report(REPORT)


async def _settled(shard: LiveShard) -> None:
    await shard.until_bound("shop", 3)
    await shard.until_bound("ml", 2)
    settled = NeedCounts(met=2, short=1)
    await shard.until(lambda: shard.process.state.decision_loop.ledger.counts() == settled)
