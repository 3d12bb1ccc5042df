"""The shard refuses a roll-up: people in the cluster read why, from the log, a count and Events."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bigfleet.kube.kinds import CAPACITY_REQUESTS
from bigfleet.model.cluster_reports import ClusterReportReply
from bigfleet.model.rollups import RollupRefusal
from bigfleet.model.session_frames import OperatorFrame, RollupFrame
from tests.kube_api import FakeApiServer
from tests.operator_system.reports import ReportDesk
from tests.operator_system.rig import AttentiveShard, JumpingClock, operating

WHY = "distinct profiles: 11000 sent, 10000 allowed; see rollup.max_profiles"


@dataclass
class RefusingShard(AttentiveShard):
    is_full: bool = True
    turned_away: int = 0

    def received(self, session: int, frame: OperatorFrame) -> None:
        if self.is_full and isinstance(frame, RollupFrame):
            self.turned_away += 1
        else:
            super().received(session, frame)

    def reply(self, _report: object) -> ClusterReportReply:
        refusal = RollupRefusal("too_heavy", WHY, 1, self.turned_away)
        return ClusterReportReply((), 7, 1, 0, (), refusal if self.is_full else None)


def request(number: int) -> dict[str, Any]:
    spec = {"priority": 0, "resources": {"cpu": "1"}}
    return {"metadata": {"name": f"web-{number:02}", "namespace": "team"}, "spec": spec}


async def test_the_operator_tells_why_its_demand_is_refused(tmp_path: Path) -> None:
    clock, shard = JumpingClock(), RefusingShard()
    async with FakeApiServer(clock) as server:
        for number in range(30):
            server.put(CAPACITY_REQUESTS, request(number))
        desk = ReportDesk(shard.reply)
        async with operating(tmp_path, server, clock, shard, desk=desk) as rig:
            await rig.until(lambda: rig.events("RollupRefused"))
            await rig.passes(40)
            events = rig.events("RollupRefused")
            told = [event["involvedObject"]["name"] for event in events]
            assert sorted(told) == [f"web-{number:02}" for number in range(20)], "each once"
            assert all(WHY in event["message"] for event in events)
            (said,) = [facts for _, event, facts in rig.log.lines if event == "rollup.refused"]
            assert WHY in said["msg"]
            page = await rig.metrics()
            assert "bigfleet_operator_rollup_refused 1" in page
            # The last one may be sent and not asked about yet.
            refused = rig.operator.counts.of("rollups_refused_total", reason="too_heavy")
            assert 2 <= refused <= shard.turned_away
            shard.is_full = False
            await rig.until(lambda: rig.log.count("rollup.taken"))
            assert "bigfleet_operator_rollup_refused 0" in await rig.metrics()
            assert len(rig.events("RollupRefused")) == 20


async def test_while_roll_ups_are_refused_the_cluster_goes_on_to_report(tmp_path: Path) -> None:
    """Its Nodes are as they are, also if its demand is refused."""
    clock, shard = JumpingClock(), RefusingShard()
    async with FakeApiServer(clock) as server:
        server.put(CAPACITY_REQUESTS, request(0))
        desk = ReportDesk(shard.reply)
        async with operating(tmp_path, server, clock, shard, desk=desk) as rig:
            await rig.until(lambda: shard.turned_away)
            before = len(desk.taken)
            await rig.passes(60)
            assert len(desk.taken) >= before + 5


async def test_requests_beyond_the_budget_are_left_out_with_an_event_and_the_rest_is_sent(
    tmp_path: Path,
) -> None:
    clock, shard = JumpingClock(), AttentiveShard()
    async with FakeApiServer(clock) as server:
        for number in range(70):
            odd = request(number)
            odd["spec"]["resources"] = {"cpu": "1", f"evil.example/r{number}": "1"}
            server.put(CAPACITY_REQUESTS, odd)
        async with operating(tmp_path, server, clock, shard) as rig:
            await rig.until(lambda: len(rig.events("UntranslatableRequirement")) == 10)
            await rig.until(lambda: rig.milli_cpus() == 60_000)
            (said, *_) = rig.events("UntranslatableRequirement")
            assert "with it the cluster asks for more than 60 unusual resources" in said["message"]
            page = await rig.metrics()
            assert 'crs_skipped_total{reason="too_heavy"} 10' in page
            assert "bigfleet_operator_crs_skipped 10" in page
            # A request of the usual kind is served all the same.
            server.put(CAPACITY_REQUESTS, request(99))
            await rig.until(lambda: rig.milli_cpus() == 61_000)
