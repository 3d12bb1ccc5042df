"""What the shard's word had set going and the API server has not taken yet stops without it."""

from pathlib import Path
from typing import Any

from bigfleet.kube.kinds import CAPACITY_REQUESTS, EVENTS, SECRETS
from bigfleet.model.session_frames import BootstrapRequest
from tests.kube_api import FakeApiServer
from tests.operator_system.rig import CLUSTER, JumpingClock, Rig, operating

MANY = 12


def request(name: str, **spec: object) -> dict[str, object]:
    whole = {"priority": 0, "resources": {"cpu": "1"}, **spec}
    return {"metadata": {"name": name, "namespace": "team"}, "spec": whole}


def acknowledged(rig: Rig) -> int:
    found = rig.server.objects(CAPACITY_REQUESTS).values()
    return sum(each.get("status", {}).get("phase") == "Acknowledged" for each in found)


async def test_requests_that_wait_for_their_mark_wait_for_the_next_session(tmp_path: Path) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server:
        marking = server.hold("patch", CAPACITY_REQUESTS.plural)
        for n in range(MANY):
            server.put(CAPACITY_REQUESTS, request(f"web-{n}"))
        async with operating(tmp_path, server, clock, ack_concurrency=2) as rig:
            await rig.until(lambda: len(marking.waiting) == 2)
            await rig.shard_dies()
            marking.release()
            await rig.passes(30)
            assert acknowledged(rig) <= 2, "only what was on its way before"
            await rig.shard_returns()
            await rig.until(lambda: acknowledged(rig) == MANY)
            # No object twice: each was written once, those on their way at most once more.
            assert len(server.writes(CAPACITY_REQUESTS.plural)) <= MANY + 2


async def test_events_that_wait_are_written_in_the_next_session(tmp_path: Path) -> None:
    clock = JumpingClock()
    odd = {"key": "cores", "operator": "Gt", "values": ["8"]}
    async with FakeApiServer(clock) as server:
        telling = server.hold("create", EVENTS.plural)
        for n in range(MANY):
            server.put(CAPACITY_REQUESTS, request(f"odd-{n}", requirements=[odd]))
        async with operating(tmp_path, server, clock) as rig:
            await rig.until(lambda: telling.waiting)
            await rig.shard_dies()
            telling.release()
            await rig.passes(30)
            assert len(rig.events("UntranslatableRequirement")) <= 1, "what was on its way before"
            await rig.shard_returns()
            await rig.until(lambda: len(rig.events("UntranslatableRequirement")) == MANY)


async def test_a_token_that_is_no_longer_awaited_is_not_made(tmp_path: Path) -> None:
    (tmp_path / "join.tmpl").write_text("join {{ .Token }}")
    clock = JumpingClock()
    minting: dict[str, Any] = {
        "mint_token": True,
        "bootstrap_template_file": str(tmp_path / "join.tmpl"),
    }
    async with FakeApiServer(clock) as server, operating(tmp_path, server, clock, **minting) as rig:
        server.fail("create", SECRETS.plural, status=429, retry_after=5)
        rig.shard.say(BootstrapRequest("r-1", CLUSTER, ()))
        await rig.until(lambda: server.calls("create", SECRETS.plural))
        await rig.shard_dies()
        await rig.passes(30)
        assert server.objects(SECRETS) == {}
