"""A fleet may live sixty times as fast as people do; what it tells people is the time of day."""

import json
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from random import Random

from bigfleet.model.instants import instant_of
from bigfleet.model.need_states import NeedState
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import PauseScope
from bigfleet.model.shard_admin import Audit, PauseCall
from bigfleet.model.shard_views import NeedQuery
from bigfleet.shard.settings import ShardSettings
from bigfleet.up.fleet_watch import FleetWatch
from bigfleet.up.local_fleet import LocalFleet
from bigfleet.up.plans import FleetPlan
from bigfleet.up.reports import CycleReport
from bigfleet.up.scenario import Scenario
from bigfleet.up.simulated_time import SimulatedTimes, keep
from bigfleet.wire.provider_admin import ProviderAdminClient, Verb
from bigfleet.wire.shard_admin import ShardAdminClient
from tests.up.fleets import FAST, context, running, seen
from tests.up.wire_instants import (
    COORDINATOR_SERVICES,
    SHARD_SERVICES,
    Instants,
    instants_at,
    lies_ahead,
)

SKEW = SECOND


class AuditedPlan(FleetPlan):
    """Its shards write an audit file, as those of a real fleet may."""

    def shard_settings(self, name: str, data_dir: Path, provider: str) -> ShardSettings:
        settings = super().shard_settings(name, data_dir, provider)
        return replace(settings, journal=replace(settings.journal, audit_log="audit.log"))


def audited(plan: FleetPlan) -> AuditedPlan:
    return AuditedPlan(**{each.name: getattr(plan, each.name) for each in fields(plan)})


HURRIED = audited(replace(FAST, speed=60))
PAUSE_SECONDS = 3600


def has_pods(report: CycleReport) -> bool:
    return any(cluster.running for cluster in report.clusters)


async def everything_told(fleet_addresses: dict[str, str], machine: str) -> Instants:
    shard, coordinator = fleet_addresses["shard-0"], fleet_addresses["coordinator"]
    found = await instants_at(shard, SHARD_SERVICES, machine_id=machine, include_expired=True)
    return found | await instants_at(coordinator, COORDINATOR_SERVICES, include_finished=True)


async def test_no_time_that_a_hurried_fleet_tells_lies_in_the_future_or_runs_backwards(
    tmp_path: Path,
) -> None:
    began = time.time_ns()
    async with running(replace(HURRIED, data_dir=tmp_path)) as fleet:
        report = await seen(fleet, has_pods)
        pace = (fleet.clock.now() - began) / (time.time_ns() - began)
        assert pace > 5, "the fleet must have lived through more than people have"
        address = fleet.addresses["shard-0"]
        async with ShardAdminClient(address) as shard:
            audit, scope = Audit("me", "to see when it ends"), PauseScope()
            await shard.pause(PauseCall(audit, scope, PAUSE_SECONDS))
            blocked = await a_reason_with_a_time(fleet, shard)
            header = b"".join([lines async for lines in shard.fleet()]).partition(b"\n")[0]
        machine = next(action.machine for action in report.actions) if report.actions else ""
        machine = machine or next(iter(fleet.owned()["shard-0"]))
        first = await everything_told(fleet.addresses, machine)
        second = await everything_told(fleet.addresses, machine)
        by_the_provider = await told_by_the_provider(fleet.addresses["provider"])
        now = time.time_ns()
    by_the_audit = list(told_by_the_audit_file(tmp_path / "shard-0" / "audit.log"))
    assert by_the_audit
    assert by_the_provider
    told_elsewhere = [*by_the_audit, *by_the_provider]
    assert began - SKEW < min(told_elsewhere) <= max(told_elsewhere) < time.time_ns() + SKEW

    assert {"ListShards.shards.last_heartbeat_unix_ns", "GetStatus.last_cycle_unix_nanos"} <= {
        *first
    }
    assert len(first) >= 15, sorted(first)
    told = {path: instants for path, instants in second.items() if not lies_ahead(path)}
    ahead = {p: max(i) - now for p, i in told.items() if max(i) > now + SKEW}
    assert ahead == {}
    captured = instant_of(json.loads(header)["provenance"]["capturedAt"])
    assert captured is not None
    assert began - SKEW < captured < now + SKEW
    heartbeat = "ListShards.shards.last_heartbeat_unix_ns"
    assert second[heartbeat] >= first[heartbeat] > [began - SKEW]
    # An hour of the fleet is a minute of ours.
    ends = [max(i) for p, i in second.items() if "expires" in p and "Pauses" in p]
    assert ends
    assert now < max(ends) < now + PAUSE_SECONDS / 60 * SECOND + SKEW
    assert now < blocked < now + PAUSE_SECONDS / 60 * SECOND + SKEW


async def told_by_the_provider(address: str) -> list[int]:
    """When it accepted and finished what it was asked for."""
    async with ProviderAdminClient(address) as provider:
        found = await provider.do(Verb.OPS, {"limit": 1000})
    operations: list[dict[str, str]] = list(found.answer["items"])  # type: ignore[call-overload]
    words = ("acceptedAt", "startedAt", "finishedAt")
    texts = [row[word] for row in operations for word in words if row[word]]
    return [instant_of(text) or 0 for text in texts]


def told_by_the_audit_file(path: Path) -> Iterator[int]:
    for line in path.read_text().splitlines():
        yield instant_of(json.loads(line)["time"]) or 0


async def a_reason_with_a_time(fleet: LocalFleet, shard: ShardAdminClient) -> int:
    """When a blocked Need says that the pause ends; its sentence says since when it lasts."""
    while True:
        await seen(fleet, lambda report: any(n.reason == "rail.paused" for n in report.unmet))
        listing = await shard.needs(NeedQuery(states=(NeedState.BLOCKED,)))
        for row in listing.rows:
            if until := row.reason.facts.get("until"):
                since = str(row.reason.facts["since"])
                assert since in row.reason.text
                assert (instant_of(since) or 0) <= time.time_ns() + SKEW
                return instant_of(str(until)) or 0


def test_real_and_simulated_instants_are_one_to_one_and_keep_their_order() -> None:
    chance = Random(7)
    times = SimulatedTimes(real_began=1_000 * SECOND, began=5_000 * SECOND, speed=60.0)
    instants = sorted(chance.randrange(5_000 * SECOND, 90_000 * SECOND) for _ in range(200))
    real = [times.real_of(each) for each in instants]
    assert real == sorted(real)
    assert all(abs(times.own_of(r) - each) <= 60 for r, each in zip(real, instants, strict=True))
    assert times.real_of(5_060 * SECOND) == 1_001 * SECOND


def test_what_an_earlier_life_wrote_down_is_past_and_an_unknown_time_stays_unknown() -> None:
    times = SimulatedTimes(real_began=1_000 * SECOND, began=5_000 * SECOND, speed=60.0)
    assert times.real_of(0) == times.own_of(0) == 0
    assert times.real_of(900 * SECOND) == 900 * SECOND
    assert times.real_of(4_000 * SECOND) == 1_000 * SECOND


def test_instants_before_and_after_a_change_of_speed_are_one_to_one() -> None:
    times = SimulatedTimes(real_began=1_000 * SECOND, began=1_000 * SECOND, speed=1.0)
    times.on_speed(began=1_100 * SECOND, real_began=1_100 * SECOND, speed=60.0)
    times.on_speed(began=1_700 * SECOND, real_began=1_110 * SECOND, speed=0.5)
    assert not times.is_real
    own = [1_050, 1_100, 1_400, 1_700, 1_705]
    real = [1_050, 1_100, 1_105, 1_110, 1_120]
    assert [times.real_of(each * SECOND) // SECOND for each in own] == real
    assert [times.own_of(each * SECOND) // SECOND for each in real] == own


async def test_a_fleet_whose_speed_changes_goes_on_and_tells_real_times() -> None:
    async with running(replace(FAST, speed=1)) as fleet:
        slow = fleet.clock.now()
        scenario = Scenario(fleet, context().clock, context().log, FleetWatch())
        assert await scenario.do({"do": "speed", "speed": 60}) == {"speed": 60.0}
        assert scenario.document()["clock"]["speed"] == 60
        await scenario.close()
        first = await seen(fleet, has_pods)
        later = await seen(fleet, lambda report: report.at - first.at > 30 * SECOND)
        assert later.at > first.at > slow
        settings = fleet.shards["shard-0"].state.settings
        assert settings.cycle_interval == fleet.plan.paced(settings).cycle_interval > 1
        told = await everything_told(fleet.addresses, next(iter(fleet.owned()["shard-0"])))
        now = time.time_ns()
    past = {path: max(found) for path, found in told.items() if not lies_ahead(path)}
    assert {path: instant - now for path, instant in past.items() if instant > now + SKEW} == {}


async def test_the_time_of_a_fleet_that_goes_on_begins_where_it_was(tmp_path: Path) -> None:
    ahead = time.time_ns() + 36_000 * SECOND
    keep(tmp_path, 5.0, ahead)
    fleet = LocalFleet(replace(FAST, speed=1, data_dir=tmp_path), context())
    assert fleet.clock.now() >= ahead
    assert fleet.times.real_of(ahead - SECOND) <= fleet.times.real_of(ahead) <= time.time_ns()
