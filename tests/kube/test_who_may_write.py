"""A replica that does not lead sends no write; what it reads, and its lease, are another matter."""

import pytest

from bigfleet.edge.clock import ManualClock
from bigfleet.kube.answers import Unreachable
from bigfleet.kube.kinds import LEASES, NODES, PODS
from bigfleet.kube.objects import Meta, Pod
from tests.kube_api import FakeApiServer, api_for


async def test_nothing_is_sent_while_writing_is_not_allowed() -> None:
    async with FakeApiServer() as server, api_for(server, ManualClock()) as api:
        server.put(PODS, {"metadata": {"name": "web-0", "namespace": "shop"}})
        api.may_write = lambda: False
        with pytest.raises(Unreachable, match="does not lead"):
            await api.evict(Pod(metadata=Meta(name="web-0", namespace="shop")))
        with pytest.raises(Unreachable, match="does not lead"):
            await api.create(NODES, {"metadata": {"name": "n-1"}})
        assert server.writes() == []
        assert api.writes == 0


async def test_a_lease_is_written_by_candidates_and_read_by_all() -> None:
    async with FakeApiServer() as server, api_for(server, ManualClock()) as api:
        server.put(NODES, {"metadata": {"name": "n-1"}})
        api.may_write = lambda: False
        assert (await api.get(NODES, "n-1")).metadata.name == "n-1"
        await api.create(LEASES, {"metadata": {"name": "l"}, "spec": {}}, "ops")
        assert server.has(LEASES, "l", "ops")
