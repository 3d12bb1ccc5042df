"""Fault selectors wrap any Backend: the clusters and slots that fail on purpose."""

from dataclasses import replace

import pytest

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import ListCall
from bigfleet.provider.options import Timing
from bigfleet.provider.testing import slots
from tests.provider.rig import OPTIONS, running

FAULTY = replace(OPTIONS, fault_selectors=True, timing=Timing().with_transition_timeout(2.0))


@pytest.mark.parametrize(
    ("cluster", "reason"),
    [
        ("fault-error", "error:"),
        ("fault-timeout", "timeout:"),
        ("fault-slow-ok", "timeout:"),
        ("fault-readiness-block", "readiness:"),
    ],
)
async def test_a_configure_fails_as_its_cluster_says(cluster: str, reason: str) -> None:
    async with running(options=FAULTY) as rig:
        await rig.to_idle("m-0")
        await rig.configure("m-0", cluster)
        await rig.clock.advance(2.1)
        failed = await rig.get("m-0")
        assert failed.last_error.startswith(reason)
        await rig.clock.advance(6)
        assert (await rig.get("m-0")).last_error == failed.last_error


async def test_a_drain_fails_where_the_cluster_says_so() -> None:
    async with running(options=FAULTY) as rig:
        await rig.to_configured("m-0", "fault-drain-error")
        await rig.drain("m-0")
        assert (await rig.get("m-0")).last_error.startswith("error:")


async def test_eight_extra_slots_fail_their_create_and_come_back() -> None:
    async with running(slots(1), options=FAULTY) as rig:
        ids, _ = await rig.ids()
        assert ids == ["m-0", *(f"faultcreate-{n}" for n in range(8))]
        await rig.create("faultcreate-3")
        failed = await rig.get("faultcreate-3")
        assert failed.labels["conformance.fault/create"] == "error"
        assert failed.last_error.startswith("error:")
        await rig.clock.advance(301)
        assert await rig.state("faultcreate-3") is MachineState.SPECULATIVE


async def test_without_the_switch_such_a_cluster_is_a_cluster() -> None:
    async with running() as rig:
        await rig.to_configured("m-0", "fault-error")


async def test_slots_that_fail_are_listed_last_and_dearest() -> None:
    async with running(slots(3), options=FAULTY) as rig:
        records, _ = await rig.client.list(ListCall())
        ordinary, failing = records[:3], records[3:]
        assert all("conformance.fault/create" in record.labels for record in failing)
        assert max(r.price_per_hour for r in ordinary) < min(r.price_per_hour for r in failing)
