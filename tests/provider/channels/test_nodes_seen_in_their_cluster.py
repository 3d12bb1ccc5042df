"""KubeNodeReady: one look at a cluster answers all who wait, and no failure ends the waiting."""

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from bigfleet.edge.clock import next_turn
from bigfleet.edge.pages import HttpAnswer, HttpRequest, Pages
from bigfleet.model.errors import BadInput
from bigfleet.provider import KubeNodeReady, ManualClock, Permanent
from bigfleet.provider.blocks.kube_nodes import Node, looker_of

KUBECONFIG = """
current-context: main
contexts: [{{name: main, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: "{server}"}}}}]
users: [{{name: u, user: {{token: t0ken}}}}]
"""


def node(name: str, provider_id: str, ready: str = "True") -> dict[str, object]:
    conditions = [{"type": "Ready", "status": ready}]
    return {
        "metadata": {"name": name},
        "spec": {"providerID": provider_id},
        "status": {"conditions": conditions},
    }


class Cluster:
    """The nodes of a cluster, and how often they were listed."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.broken = False
        self.looks = 0

    def look(self) -> Iterable[Node]:
        self.looks += 1
        if self.broken:
            raise ConnectionError("api server is down")
        return self.nodes

    def add(self, provider_id: str) -> None:
        import msgspec

        self.nodes.append(msgspec.convert(node("n", provider_id), Node))


async def until_done(clock: ManualClock, waiting: asyncio.Task[None]) -> None:
    async with asyncio.timeout(60):
        while not waiting.done():
            await clock.advance(2)
            await next_turn()
    await waiting


async def test_all_who_wait_for_a_cluster_share_one_look() -> None:
    cluster, clock = Cluster(), ManualClock()
    ready = KubeNodeReady({"shop": cluster.look}, clock)
    cluster.add("sim:///z1/i-1")
    async with asyncio.timeout(60):
        await asyncio.gather(*(ready.wait("shop", provider_id="i-1") for _ in range(50)))
    assert cluster.looks == 1


async def test_a_cluster_that_is_down_is_asked_again() -> None:
    cluster, clock = Cluster(), ManualClock()
    cluster.broken = True
    waiting = asyncio.create_task(
        KubeNodeReady({"shop": cluster.look}, clock).wait("shop", provider_id="i-1")
    )
    async with asyncio.timeout(60):
        while cluster.looks < 3:
            await clock.advance(2)
            await next_turn()
    assert not waiting.done()
    cluster.broken = False
    cluster.add("i-1")
    await until_done(clock, waiting)


async def test_an_unknown_cluster_cannot_get_ready() -> None:
    with pytest.raises(Permanent, match="no kubeconfig for cluster shop"):
        await KubeNodeReady({}).wait("shop", provider_id="i-1")


@pytest.mark.parametrize(
    ("theirs", "ours", "name", "same"),
    [
        ("aws:///z1/i-1", "i-1", "", True),
        ("aws:///z1/i-1", "aws:///z1/i-1", "", True),
        ("aws:///z1/i-12", "i-1", "", False),
        ("", "", "n", True),
        ("", "", "", False),
    ],
)
def test_a_node_is_known_by_its_provider_id_or_its_name(
    theirs: str, ours: str, name: str, same: bool
) -> None:
    import msgspec

    assert msgspec.convert(node("n", theirs), Node).is_of(ours, name) is same


async def test_nodes_are_read_page_by_page_with_the_token_of_the_kubeconfig(
    tmp_path: Path,
) -> None:
    pages = {"": ([node("a", "x/1"), node("b", "x/2", "False")], "more"), "more": ([], "")}

    async def nodes(request: HttpRequest) -> HttpAnswer:
        assert request.authorization == "Bearer t0ken"
        items, following = pages[request.query.rpartition("=")[2]]
        document = {"metadata": {"continue": following}, "items": items}
        return HttpAnswer(json.dumps(document).encode())

    server = Pages({}, {"/api/v1/nodes": nodes})
    port = await server.start("127.0.0.1:0")
    file = tmp_path / "shop.yaml"
    file.write_text(KUBECONFIG.format(server=f"http://127.0.0.1:{port}"))
    found = await asyncio.to_thread(lambda: list(looker_of(file)()))
    await server.stop()
    assert [(n.metadata.name, n.ready) for n in found] == [("a", True), ("b", False)]


def test_kubeconfigs_come_from_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop.yaml").write_text(KUBECONFIG.format(server="http://127.0.0.1:1"))
    monkeypatch.setenv("BIGFLEET_KUBECONFIGS", str(tmp_path))
    assert list(KubeNodeReady.from_env()._clusters) == ["shop"]
    (tmp_path / "mall.yaml").write_text("users: []")
    with pytest.raises(BadInput, match=r"mall\.yaml"):
        KubeNodeReady.from_env()
    monkeypatch.delenv("BIGFLEET_KUBECONFIGS")
    with pytest.raises(BadInput, match="BIGFLEET_KUBECONFIGS"):
        KubeNodeReady.from_env()
