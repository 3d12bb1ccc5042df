"""What people ask of a shard, over real gRPC: calls, answers, and what is refused at the door."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeVar

import grpc
import pytest
from google.protobuf.message import Message

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.actions import ActionKind
from bigfleet.model.costs import CostCall
from bigfleet.model.counterfactuals import CounterfactualCall
from bigfleet.model.explanations import ExplainNeedCall
from bigfleet.model.figures import AvailableCall, CostAxis
from bigfleet.model.forecasts import ForecastCall
from bigfleet.model.machine_answers import (
    CycleCall,
    CycleView,
    DecisionList,
    DecisionQuery,
    MachineCall,
    WhyNotCall,
    WhyNotQuestion,
)
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import NeedKey
from bigfleet.model.pauses import PauseScope
from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.model.shard_admin import (
    Audit,
    ClearedMachine,
    FetchCall,
    MachineStory,
    PauseCall,
    Paused,
    PauseList,
    ReleasedQuarantine,
    ResumeCall,
    Resumed,
    StoryCall,
    TailCall,
)
from bigfleet.model.shard_views import (
    ClearMode,
    DomainCoverage,
    MachinePage,
    MachineQuery,
    MachineSelector,
    MatchingSupply,
    NeedPage,
    NeedQuery,
    QuarantineKind,
)
from bigfleet.model.verifier_views import PolicySet
from bigfleet.model.watch_events import FleetMapCall, WatchCall
from bigfleet.model.what_if import RemoveMachines, WhatIfCall
from bigfleet.v1alpha1 import shardread_pb2
from bigfleet.wire.client_line import ClientLine
from bigfleet.wire.handler_runner import HandlerRunner
from bigfleet.wire.machine_views import MACHINE_VIEW, QUERY
from bigfleet.wire.provider_server import ExtraService
from bigfleet.wire.rpc_service import RpcService
from bigfleet.wire.shard_admin import SHARD_ADMIN, ShardAdminClient
from bigfleet.wire.shard_read import NEED_VIEW, SHARD_READ, ShardReadClient
from tests.wire import (
    admin,
    cost_answers,
    counterfactual_answer,
    figures_answer,
    forecast_answer,
    isolated_answer,
    regret_answer,
    statement_answers,
    thrash_answers,
    watch_answers,
    what_if_answer,
)
from tests.wire.admin import ScriptedAdmin
from tests.wire.sessions import PATIENCE, ScriptedShard, line_to

T = TypeVar("T")
AUDIT = Audit("ada", "drill")
NOBODY = Peer()


async def all_of(pieces: AsyncGenerator[T, None]) -> list[T]:
    return [piece async for piece in pieces]


async def whole(pieces: AsyncGenerator[bytes, None]) -> bytes:
    found = [piece async for piece in pieces]
    assert all(piece.endswith(b"\n") for piece in found), "lines are never cut"
    assert len(found) > 1, "more than one frame"
    return b"".join(found)


SCOPE = PauseScope(("shard-0",), ("shop",), (ActionKind.PREEMPT,))
KEY = NeedKey("shop", admin.FINGERPRINT, "")
ASKED = WhyNotCall(WhyNotQuestion.ASSIGNED, "m-1", KEY, 8)
Exchange = tuple[Callable[[ShardAdminClient], Awaitable[object]], tuple[object, ...], object]
WHAT_IF = WhatIfCall(18230, (RemoveMachines(MachineSelector(zones=frozenset({"b"}))),))
CALLS: dict[str, Exchange] = {
    "status": (lambda c: c.status(), ("status",), admin.STATUS),
    "pause": (
        lambda c: c.pause(PauseCall(AUDIT, SCOPE, 60, True, "p-1")),
        ("pause", PauseCall(AUDIT, SCOPE, 60, True, "p-1"), NOBODY),
        Paused(admin.PAUSE, (admin.PAUSE, admin.FLAG)),
    ),
    "resume": (
        lambda c: c.resume(ResumeCall(AUDIT, "p-1", True)),
        ("resume", ResumeCall(AUDIT, "p-1", True), NOBODY),
        Resumed((admin.PAUSE,), (admin.FLAG,)),
    ),
    "pauses": (
        lambda c: c.pauses(include_expired=True),
        ("pauses", True),
        PauseList((admin.PAUSE, admin.FLAG), True),
    ),
    "sessions": (
        lambda c: c.sessions(cluster_id="shop"),
        ("sessions", "shop"),
        (admin.SESSION, admin.SILENT),
    ),
    "machines": (
        lambda c: c.machines(MachineQuery(limit=5)),
        ("machines", MachineQuery(limit=5)),
        MachinePage(9, 10, 100, (admin.BARE, admin.FULL)),
    ),
    "needs with their states": (
        lambda c: c.needs(NeedQuery("shop", 5, (NeedState.BLOCKED, NeedState.SHORT))),
        ("list_needs", NeedQuery("shop", 5, (NeedState.BLOCKED, NeedState.SHORT))),
        admin.LISTING,
    ),
    "the story of a machine": (
        lambda c: c.story(StoryCall("m-1", 7, 5)),
        ("story", StoryCall("m-1", 7, 5)),
        MachineStory(admin.FULL, (admin.EVENT,), True),
    ),
    "why a Need got what it got": (
        lambda c: c.explain_need(ExplainNeedCall(KEY, 8, 5, "n1")),
        ("explain_need", ExplainNeedCall(KEY, 8, 5, "n1")),
        admin.EXPLAINED_NEED,
    ),
    "why a machine is where it is": (
        lambda c: c.explain_machine(MachineCall("m-1", 8)),
        ("explain_machine", MachineCall("m-1", 8)),
        admin.EXPLAINED,
    ),
    "why not": (
        lambda c: c.why_not(ASKED),
        ("why_not", ASKED),
        admin.REFUSED,
    ),
    "decisions": (
        lambda c: c.decisions(DecisionQuery(3, 9, (ActionKind.PREEMPT,), "shop", "m-1", KEY, 5)),
        ("decisions", DecisionQuery(3, 9, (ActionKind.PREEMPT,), "shop", "m-1", KEY, 5)),
        DecisionList(admin.DECIDED, True),
    ),
    "a cycle": (
        lambda c: c.cycle(CycleCall(8, 5, 2)),
        ("cycle", CycleCall(8, 5, 2)),
        CycleView(9, 10, admin.DECIDED, 3, 4, 5, 6, {"phase1": 7, "emit": 8}, b"out", admin.INPUTS),
    ),
    "clear a failed machine": (
        lambda c: c.clear(AUDIT, "m-1", ClearMode.FORGET),
        ("clear", "m-1", ClearMode.FORGET, AUDIT, NOBODY),
        ClearedMachine(None, "forgotten"),
    ),
    "quarantines": (lambda c: c.quarantines(), ("quarantines",), (admin.HELD,)),
    "release a quarantine": (
        lambda c: c.release(AUDIT, QuarantineKind.PROVIDER_LIST, "sim", True),
        ("release", QuarantineKind.PROVIDER_LIST, "sim", True, AUDIT, NOBODY),
        ReleasedQuarantine(admin.HELD, "accepted"),
    ),
    "offerings": (lambda c: c.offerings(), ("offerings",), (admin.RESTING,)),
    "the fleet": (
        lambda c: whole(c.fleet(18231)),
        ("dump_fleet", 18231),
        b"".join(admin.FLEET_LINES),
    ),
    "records of the journal": (
        lambda c: all_of(c.tail_journal(TailCall(-1, True, ("story",), "shop", "m-1"))),
        ("tail_journal", TailCall(-1, True, ("story",), "shop", "m-1")),
        list(admin.RECORDS),
    ),
    "segments of the journal": (
        lambda c: all_of(c.fetch_journal(FetchCall(3, 9))),
        ("fetch_journal", FetchCall(3, 9)),
        list(admin.PIECES),
    ),
    "what if": (
        lambda c: c.what_if(WHAT_IF),
        ("what_if", WHAT_IF),
        what_if_answer.COMPARED,
    ),
    "what would satisfy a Need": (
        lambda c: c.counterfactual(CounterfactualCall(KEY, 8, 5000, 2, "n1", True)),
        ("counterfactual", CounterfactualCall(KEY, 8, 5000, 2, "n1", True)),
        counterfactual_answer.ANSWER,
    ),
    "what is available": (
        lambda c: c.available(AvailableCall("shop", 7)),
        ("available", AvailableCall("shop", 7)),
        figures_answer.AVAILABLE,
    ),
    "figures": (
        lambda c: c.figures(axes=[CostAxis.ZONE], cycle=8),
        ("figures", (CostAxis.ZONE,), 8),
        figures_answer.FIGURES,
    ),
    "costs": (
        lambda c: c.costs(CostCall(CostAxis.NEED, 7, 8, charges=True)),
        ("costs", CostCall(CostAxis.NEED, 7, 8, charges=True)),
        cost_answers.HOURS,
    ),
    "events": (
        lambda c: all_of(c.watch_events(WatchCall(("map", "overview"), 8))),
        ("watch_events", WatchCall(("map", "overview"), 8)),
        list(watch_answers.EVENTS),
    ),
    "the map": (
        lambda c: all_of(c.fleet_map(FleetMapCall(8))),
        ("fleet_map", FleetMapCall(8)),
        watch_answers.PIECES,
    ),
    "one pool and isolated ones": (
        lambda c: c.isolated(isolated_answer.CALL),
        ("isolated", isolated_answer.CALL),
        isolated_answer.REPORT,
    ),
    "invoices": (
        lambda c: c.invoices(statement_answers.CALL),
        ("invoices", statement_answers.CALL),
        statement_answers.INVOICES,
    ),
    "thrash": (lambda c: c.thrash(), ("thrash",), (thrash_answers.THRASHING,)),
    "forecasts": (
        lambda c: c.forecasts(ForecastCall("shop", 7)),
        ("forecasts", ForecastCall("shop", 7)),
        forecast_answer.REPORT,
    ),
    "the regret": (lambda c: c.regret(), ("regret",), regret_answer.MEASURED),
    "the verifier": (lambda c: c.verifier(), ("verifier",), admin.VERIFIER),
    "set the verifier's policy": (
        lambda c: c.set_verifier_policy(AUDIT, admin.POLICY),
        ("set_verifier_policy", admin.POLICY, False, AUDIT, NOBODY),
        PolicySet(admin.POLICY, "set"),
    ),
    "reset an offering": (
        lambda c: c.reset_offering(AUDIT, name="sim/a3/z-a/Spot"),
        ("reset_offering", "sim/a3/z-a/Spot", AUDIT, NOBODY),
        "buying again",
    ),
}


@asynccontextmanager
async def address_of(people: ScriptedAdmin) -> AsyncIterator[str]:
    services: list[ExtraService] = [
        RpcService(SHARD_ADMIN, people),
        RpcService(SHARD_READ, people),
    ]
    async with line_to(ScriptedShard(), extra_services=services) as line:
        yield line.client.address


@pytest.mark.parametrize(("ask", "asked", "answer"), CALLS.values(), ids=CALLS)
async def test_a_call_arrives_whole_and_so_does_its_answer(
    ask: Callable[[ShardAdminClient], Awaitable[object]], asked: tuple[object, ...], answer: object
) -> None:
    people = ScriptedAdmin()
    async with address_of(people) as address, ShardAdminClient(address) as client:
        assert await ask(client) == answer
    assert people.asked == [asked]


def test_every_rpc_of_the_service_is_served() -> None:
    """But for what a cluster says of itself, which has a client of its own."""
    declared = pb.DESCRIPTOR.services_by_name["ShardAdmin"].methods_by_name
    assert len(CALLS) == len(set(declared) - {"ReportCluster"})


WITHOUT = {
    "no owner": shared.Audit(reason="drill"),
    "no reason": shared.Audit(owner="ada"),
    "a blank owner": shared.Audit(owner=" ", reason="drill"),
    "a blank reason": shared.Audit(owner="ada", reason="\n"),
    "an endless owner": shared.Audit(owner="a" * 257, reason="drill"),
    "an endless reason": shared.Audit(owner="ada", reason="x" * 4097),
}
WRITES: dict[str, Message] = {
    "Pause": shared.PauseRequest(),
    "Resume": shared.ResumeRequest(pause_id="p-1"),
    "ClearFailedMachine": pb.ClearFailedMachineRequest(
        machine_id="m-1", mode=pb.CLEAR_MODE_RECHECK
    ),
    "ReleaseQuarantine": pb.ReleaseQuarantineRequest(
        kind=pb.QUARANTINE_KIND_ROLLUP, subject="shop"
    ),
    "ResetOffering": pb.ResetOfferingRequest(name="sim/a3/z-a/Spot"),
    "SetVerifierPolicy": pb.SetVerifierPolicyRequest(from_settings=True),
}


@pytest.mark.parametrize("audit", WITHOUT.values(), ids=WITHOUT)
@pytest.mark.parametrize("method", WRITES)
async def test_a_change_says_who_makes_it_and_why(method: str, audit: shared.Audit) -> None:
    people = ScriptedAdmin()
    request = type(WRITES[method])()
    request.CopyFrom(WRITES[method])
    request.audit.CopyFrom(audit)  # type: ignore[attr-defined]
    assert await code_of(people, method, request) is Code.INVALID_ARGUMENT
    assert people.asked == []


def test_every_request_with_an_audit_is_one_of_those() -> None:
    declared = pb.DESCRIPTOR.services_by_name["ShardAdmin"].methods
    writing = {m.name for m in declared if "audit" in m.input_type.fields_by_name}
    assert writing == set(WRITES)


GOOD = shared.Audit(owner="ada", reason="drill")
SENSELESS: dict[str, tuple[str, Message]] = {
    "a pause of an unknown kind of action": (
        "Pause",
        shared.PauseRequest(audit=GOOD, scope=shared.PauseScope(kinds=[77])),  # type: ignore[list-item]
    ),
    "a pause of no kind of action": (
        "Pause",
        shared.PauseRequest(
            audit=GOOD, scope=shared.PauseScope(kinds=[shared.ACTION_KIND_UNSPECIFIED])
        ),
    ),
    "a pause with an endless id": ("Pause", shared.PauseRequest(audit=GOOD, pause_id="p" * 257)),
    "a clearing without a mode": (
        "ClearFailedMachine",
        pb.ClearFailedMachineRequest(machine_id="m-1", audit=GOOD),
    ),
    "isolated pools divided by an unknown share": (
        "GetIsolated",
        pb.GetIsolatedRequest(split="weight"),
    ),
    "a headroom below zero": ("GetIsolated", pb.GetIsolatedRequest(headroom=-0.5)),
    "a release without a kind": (
        "ReleaseQuarantine",
        pb.ReleaseQuarantineRequest(subject="shop", audit=GOOD),
    ),
}


@pytest.mark.parametrize(("method", "request_"), SENSELESS.values(), ids=SENSELESS)
async def test_a_request_that_makes_no_sense_is_refused(method: str, request_: Message) -> None:
    people = ScriptedAdmin()
    assert await code_of(people, method, request_) is Code.INVALID_ARGUMENT
    assert people.asked == []


async def code_of(people: ScriptedAdmin, method: str, request: Message) -> Code:
    async with address_of(people) as address:
        line = ClientLine(address)
        try:
            await line.call(f"/{SHARD_ADMIN.name}/{method}", request.SerializeToString(), PATIENCE)
        except Rejected as rejected:
            return rejected.code
        finally:
            await line.close()
    return Code.OK


async def test_a_selector_that_never_ends_is_refused() -> None:
    people = ScriptedAdmin()
    endless = MachineQuery(MachineSelector(ids=frozenset(f"m-{n}" for n in range(10_001))))
    async with address_of(people) as address, ShardAdminClient(address) as client:
        with pytest.raises(Rejected) as rejected:
            await client.machines(endless)
    assert rejected.value.code is Code.INVALID_ARGUMENT
    assert people.asked == []


async def test_a_refusal_of_the_shard_crosses_with_its_code() -> None:
    class Unwilling(ScriptedAdmin):
        async def clear(self, *_call: object) -> ClearedMachine:
            raise Rejected(Code.ABORTED, "m-1 is not Failed")

    async with address_of(Unwilling()) as address, ShardAdminClient(address) as client:
        with pytest.raises(Rejected, match="m-1 is not Failed") as rejected:
            await client.clear(AUDIT, "m-1", ClearMode.RETRY)
    assert rejected.value.code is Code.ABORTED


async def test_an_answer_of_a_later_version_is_an_error_that_says_so() -> None:
    class Newer:
        name = SHARD_ADMIN.name

        def rpc_handler(self, serving: HandlerRunner) -> grpc.GenericRpcHandler:
            async def answer(_request: bytes, _peer: Peer) -> bytes:
                later = pb.OfferingView(state=77)  # type: ignore[arg-type]
                return pb.ListOfferingsResponse(offerings=[later]).SerializeToString()

            listing = serving.reads("ListOfferings", answer)
            return grpc.method_handlers_generic_handler(self.name, {"ListOfferings": listing})

    async with (
        line_to(ScriptedShard(), extra_services=[Newer()]) as line,
        ShardAdminClient(line.client.address) as client,
    ):
        with pytest.raises(Rejected, match="is the shard newer") as rejected:
            await client.offerings()
    assert rejected.value.code is Code.INTERNAL


async def test_a_reader_that_leaves_early_ends_the_listing_at_its_source() -> None:
    people = ScriptedAdmin(rows=[admin.FULL] * 50_000)
    async with (
        address_of(people) as address,
        ShardAdminClient(address) as client,
        ShardAdminClient(address, deadline=0.2) as hasty,
    ):
        async with asyncio.timeout(PATIENCE):
            # Once may be too short for the listing to have begun.
            while not people.closed:
                with pytest.raises(Rejected) as rejected:
                    await hasty.machines()
                assert rejected.value.code is Code.DEADLINE_EXCEEDED
                await client.status()


SELECTORS = {
    "everything": MachineSelector(),
    "all fields": MachineSelector(
        frozenset({"m-1", "m-2"}),
        frozenset({MachineState.IDLE, MachineState.FAILED}),
        frozenset({"z-a"}),
        frozenset({"a3"}),
        frozenset({int(CapacityType.SPOT)}),
        (("rack", "r-1"), ("zone", "")),
        "shop",
        "sim",
        "m-",
    ),
}


@pytest.mark.parametrize("selector", SELECTORS.values(), ids=SELECTORS)
def test_a_question_for_machines_survives_the_wire(selector: MachineSelector) -> None:
    query = MachineQuery(selector, "timeout", True, True, 5, "m-0")
    content = QUERY.message(query).SerializeToString()
    assert QUERY.record(pb.ListMachinesRequest.FromString(content)) == query


def test_a_state_of_a_later_version_matches_nothing_rather_than_everything() -> None:
    asked = pb.ListMachinesRequest(selector=shared.MachineSelector(states=[77]))  # type: ignore[list-item]
    assert QUERY.record(asked).selector.states == frozenset({MachineState.UNSPECIFIED})


def test_a_claimed_machine_shows_who_claims_it_and_what_it_costs() -> None:
    claimed = replace(admin.FULL, claimed_by=NeedKey("ml", "p=9|", ""))
    message = MACHINE_VIEW.message(claimed)
    assert (message.claimed, message.need.cluster_id) == (True, "ml")
    cost = message.cost
    assert (cost.expected_interruption_per_hour, cost.effective_cost_per_hour) == (0.125, 0.625)
    assert MACHINE_VIEW.record(message).claimed_by == claimed.claimed_by


def test_an_interruption_that_cannot_happen_costs_nothing_however_dear() -> None:
    assigned = replace(admin.FULL.machine.assigned, interruption_penalty=float("inf"))
    machine = replace(admin.FULL.machine, assigned=assigned, interruption_probability=0.0)
    cost = MACHINE_VIEW.message(replace(admin.FULL, machine=machine)).cost
    assert (cost.expected_interruption_per_hour, cost.effective_cost_per_hour) == (0.0, 0.5)


async def test_needs_come_with_their_header_and_in_order() -> None:
    people = ScriptedAdmin()
    async with address_of(people) as address, ShardReadClient(address) as client:
        page = await client.needs("ml", 2)
    assert page == NeedPage(9, 10, 100, (admin.UNMET, admin.MET))
    assert people.asked == [("needs", "ml", 2)]


async def test_a_shard_that_has_not_decided_yet_shows_an_empty_page() -> None:
    class Young(ScriptedAdmin):
        async def needs(self, cluster: str, limit: int) -> NeedPage:
            return NeedPage(0, 0, 0, ())

    async with address_of(Young()) as address, ShardReadClient(address) as client:
        assert await client.needs() == NeedPage(0, 0, 0, ())


def test_only_a_shortage_is_explained() -> None:
    met = replace(admin.UNMET, satisfied=True, victims=0)
    message = NEED_VIEW.message(met)
    assert not message.HasField("residual_deficit")
    assert not message.HasField("matching_supply")
    assert not message.HasField("preemption")
    unmet = NEED_VIEW.message(replace(admin.UNMET, supply=None))
    assert unmet.matching_supply == shardread_pb2.MatchingSupply()
    assert unmet.HasField("matching_supply")
    assert unmet.profile_fingerprint == admin.UNMET.need.profile.fingerprint


def test_at_most_six_domains_are_shown() -> None:
    many = tuple(DomainCoverage(f"r-{n}", n, False) for n in range(9))
    assert len(NEED_VIEW.message(replace(admin.UNMET, same_candidates=many)).same_candidates) == 6
    assert admin.UNMET.supply == MatchingSupply(1, 2, 10_000, True)
