"""A decision is as large as the demand: the next one must not wait for the collector to free it."""

import gc
from collections.abc import Iterator
from weakref import ref

import pytest

from tests.hazards.virtual_fleet import need
from tests.need_states.virtual_shard import SHOP, VirtualShard, idle


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
def test_the_last_decision_is_gone_when_the_next_one_is_taken() -> None:
    fleet = VirtualShard([idle("m-1")], {})
    web = need(SHOP, 2, 1000)
    fleet.report(SHOP, web)
    fleet.run(3)
    assert fleet.row(web).reason.text, "the reasons were asked for"
    decision = fleet.state.decision_loop.decision
    assert decision is not None
    outcome = ref(decision.outcome)
    del decision
    fleet.run(2)
    assert outcome() is None
