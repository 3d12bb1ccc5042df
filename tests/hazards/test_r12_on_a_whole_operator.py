"""R12 in the whole operator: an odd request is announced, counted, left Pending, and picked up."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bigfleet.kube.kinds import CAPACITY_REQUESTS
from tests.kube_api import FakeApiServer
from tests.operator_system.rig import JumpingClock, Rig, operating

ODD = {"key": "cores", "operator": "Gt", "values": ["8"]}


def put(server: FakeApiServer, name: str, **spec: object) -> None:
    whole = {"priority": 0, "resources": {"cpu": "1"}, **spec}
    server.put(CAPACITY_REQUESTS, {"metadata": {"name": name, "namespace": "team"}, "spec": whole})


def phase(rig: Rig, name: str) -> str:
    found = rig.server.get(CAPACITY_REQUESTS, name, "team")
    return str(found.get("status", {}).get("phase", ""))


def sample(page: str, name: str) -> float:
    (found,) = re.findall(rf"^bigfleet_operator_{re.escape(name)} (\S+)$", page, re.MULTILINE)
    return float(found)


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """Two requests that can be told, and between them one that cannot."""
    clock = JumpingClock()
    async with FakeApiServer(clock) as server:
        put(server, "a")
        put(server, "odd", requirements=[ODD])
        put(server, "z")
        async with operating(tmp_path, server, clock) as rig:
            await rig.until(lambda: phase(rig, "a") == phase(rig, "z") == "Acknowledged")
            yield rig


async def test_r12_the_rest_is_told_and_the_odd_one_stays_pending(rig: Rig) -> None:
    await rig.passes(30)
    assert rig.milli_cpus() == 2_000
    assert phase(rig, "odd") == ""
    assert all(call.name != "odd" for call in rig.server.calls("patch", "capacityrequests"))


async def test_r12_an_event_on_the_request_says_what_is_wrong_with_which_field(rig: Rig) -> None:
    await rig.until(lambda: rig.events("UntranslatableRequirement"))
    await rig.passes(60)
    (event,) = rig.events("UntranslatableRequirement")
    assert event["type"] == "Warning"
    about = event["involvedObject"]
    assert (about["kind"], about["namespace"], about["name"]) == ("CapacityRequest", "team", "odd")
    assert about["uid"] == rig.server.get(CAPACITY_REQUESTS, "odd", "team")["metadata"]["uid"]
    assert event["message"].startswith("spec.requirements[0].operator: ")
    assert "Gt" in event["message"]


async def test_r12_it_is_counted_by_reason_once_and_shown_as_long_as_it_lasts(rig: Rig) -> None:
    await rig.passes(30)
    page = await rig.metrics()
    assert sample(page, 'crs_skipped_total{reason="operator"}') == 1
    assert sample(page, "crs_skipped") == 1
    put(rig.server, "worse", resources={"cpu": "a lot"})
    await rig.until(lambda: rig.operator.counts.of("crs_skipped_total", reason="quantity") == 1)
    assert sample(await rig.metrics(), "crs_skipped") == 2
    rig.server.remove(CAPACITY_REQUESTS, "odd", "team")
    rig.server.remove(CAPACITY_REQUESTS, "worse", "team")
    await rig.until(lambda: not rig.operator.cluster_cache.book.skipped)
    page = await rig.metrics()
    assert sample(page, "crs_skipped") == 0
    assert sample(page, 'crs_skipped_total{reason="operator"}') == 1


async def test_r12_a_request_that_is_mended_is_picked_up(rig: Rig) -> None:
    put(rig.server, "odd", requirements=[{**ODD, "operator": "In"}])
    await rig.until(lambda: phase(rig, "odd") == "Acknowledged")
    assert rig.milli_cpus() == 3_000
    assert sample(await rig.metrics(), "crs_skipped") == 0


async def test_r12_an_odd_one_that_came_without_a_session_is_announced_with_the_next(
    rig: Rig,
) -> None:
    await rig.until(lambda: rig.events("UntranslatableRequirement"))
    await rig.shard_dies()
    put(rig.server, "late", requirements=[ODD])
    await rig.until(lambda: len(rig.operator.cluster_cache.book.skipped) == 2)
    await rig.passes(30)
    assert len(rig.events("UntranslatableRequirement")) == 1
    await rig.shard_returns()
    await rig.until(lambda: len(rig.events("UntranslatableRequirement")) == 2)
