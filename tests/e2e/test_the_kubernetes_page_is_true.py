"""docs/kubernetes.md from top to bottom, as a reader would: every command, in order, for real.

The page's own fleet serves a cluster of the rig, whose kubelets an actor plays. Operator and pod
controller are installed as charts, whose pods do not run here, and then started by hand, as the
page does it.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from bigfleet.kube.kinds import AVAILABLE_CAPACITIES, CAPACITY_REQUESTS, UPCOMING_NODES
from bigfleet.kube.names import PREFIX
from tests.architecture.pages import Block, blocks_of
from tests.architecture.tree import ROOT
from tests.e2e.assets import require
from tests.e2e.page_shell import PageShell, page_shell
from tests.e2e.rig.__main__ import BUFFERS, PROVISIONING_REQUESTS, programs_path, tls_of
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.makers import OwnCluster
from tests.e2e.rig.node_actor import NodeActor, acting
from tests.e2e.rig.workloads import node_name
from tests.etcd_cluster import free_ports

PAGE = ROOT / "docs" / "kubernetes.md"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#: Blocks that are not run here, by their first line, and why.
ELSEWHERE = {
    "make -C $SOURCE e2e-setup": "the rig is this control plane",
    'bigfleet clusters unbind shop --reason "shut down"': "the page's fleet has no coordinator",
}
ADDRESSES = (
    "127.0.0.1:7780",
    "127.0.0.1:8780",
    "127.0.0.1:9000",
    "127.0.0.1:9001",
    "127.0.0.1:8770",
    "127.0.0.1:8771",
)
PROVIDER = "127.0.0.1:9000"
#: After the block that begins so, pods run on machines of the fleet.
BINDS = "kubectl apply -f hello.yaml"


def test_no_block_of_the_page_is_left_out_unsaid() -> None:
    blocks = list(blocks_of(PAGE))
    left_out = [b.text.splitlines()[0] for b in blocks if b.said == "run=elsewhere"]
    assert left_out == list(ELSEWHERE)
    assert {b.said for b in blocks} == {"", "run=elsewhere"}
    # Files, commands, and what commands show; nothing in between.
    assert {b.language for b in blocks if not b.file} == {"sh", "text"}


async def test_the_page_joins_a_cluster_and_leaves_again(
    own_cluster: OwnCluster, tmp_path: Path
) -> None:
    cluster = await own_cluster("shop")
    definitions = (BUFFERS, require(PROVISIONING_REQUESTS))
    await cluster.apply_crds(*(file.read_text() for file in definitions))
    folder = tmp_path / "reader"
    folder.mkdir()
    own = _substitutes(cluster)
    printed: list[str] = []
    bound: list[str] = []
    async with AsyncExitStack() as stack:
        shell = await stack.enter_async_context(page_shell(folder, _environment()))
        actor: NodeActor | None = None
        for block in blocks_of(PAGE):
            text = _with_own(block.text, own)
            if block.file:
                (folder / block.file).write_text(text)
            elif block.language == "text":
                _must_show(block, printed)
            elif block.said != "run=elsewhere":
                printed = await _run(shell, text, folder)
            if actor is None and (folder / "certs" / "shard-shard-0").exists():
                tls = tls_of(folder / "certs", "shard-0")
                acts = acting(cluster.api, cluster.name, own[PROVIDER], tls=tls)
                actor = await stack.enter_async_context(acts)
            if block.text.startswith(BINDS):
                assert actor is not None
                pods = await cluster.pods("app=hello", "default")
                bound = [node_name(pod) for pod in pods if node_name(pod) in actor.machines]
                # We type faster than any reader: what the next blocks look at is there first.
                await cluster.until(lambda: _is_written_back(cluster))
        await cluster.until(lambda: _is_left(cluster), lambda: "machines or definitions stay")
    assert len(bound) == 2


async def test_a_command_that_fails_is_noticed(tmp_path: Path) -> None:
    async with page_shell(tmp_path, _environment()) as shell:
        assert await shell.run("word=there\ncat < /dev/null") == [""]
        assert await shell.run("echo $word") == ["there", ""]
        with pytest.raises(AssertionError, match="a command failed"):
            await shell.run("false | true\necho on")


async def _is_written_back(cluster: Cluster) -> bool:
    requests = await cluster.api.list(CAPACITY_REQUESTS.path("default"))
    upcoming = await cluster.api.list(UPCOMING_NODES.path())
    told = [each.get("status", {}).get("phase") for each in (*requests, *upcoming)]
    shown = sorted(map(str, told)) == ["Acknowledged", "Acknowledged", "Ready", "Ready"]
    return shown and bool(await cluster.api.list(AVAILABLE_CAPACITIES.path()))


async def _is_left(cluster: Cluster) -> bool:
    found = await cluster.api.list(DEFINITIONS)
    ours = [each for each in found if each["spec"]["group"] == PREFIX]
    return not ours and not await cluster.nodes()


async def _run(shell: PageShell, text: str, folder: Path) -> list[str]:
    try:
        return await shell.run(text)
    except (AssertionError, TimeoutError) as failed:
        logs = {path.name: path.read_text()[-3000:] for path in sorted(folder.glob("*.log"))}
        told = "\n".join(f"--- {name}\n{end}" for name, end in logs.items())
        raise AssertionError(f"{failed}\n{shell.shown()}\n{told}") from failed


def _substitutes(cluster: Cluster) -> dict[str, str]:
    """What the page names, and what it is here."""
    ports = [f"127.0.0.1:{port}" for port in free_ports(len(ADDRESSES))]
    return {
        "SOURCE=~/bigfleet": f"SOURCE={ROOT}",
        "KUBECONFIG=~/.kube/config": f"KUBECONFIG={cluster.kubeconfig}",
        **dict(zip(ADDRESSES, ports, strict=True)),
    }


def test_everything_that_is_replaced_stands_on_the_page() -> None:
    text = PAGE.read_text()
    named = ["SOURCE=~/bigfleet", "KUBECONFIG=~/.kube/config", *ADDRESSES]
    assert [each for each in named if each not in text] == []


def _with_own(text: str, own: dict[str, str]) -> str:
    for known, mine in own.items():
        text = text.replace(known, mine)
    return text


def _environment() -> dict[str, str]:
    """Of a reader: nothing of ours is set, and the programs are found."""
    path = [str(Path(sys.executable).parent), programs_path(), os.environ.get("PATH", "")]
    plain = {n: v for n, v in os.environ.items() if not n.startswith(("BIGFLEET_", "KUBE"))}
    # Whose kubectl has met no other server at the same address.
    new = os.environ["KUBECACHEDIR"]
    return {**plain, "PATH": os.pathsep.join(path), "COLUMNS": "120", "KUBECACHEDIR": new}


def _must_show(block: Block, printed: Sequence[str]) -> None:
    """Every table the page shows has the columns that were printed."""
    shown = [line.split() for line in block.text.splitlines() if _is_header(line)]
    assert shown, f"{block} shows no table"
    lines = [line.split() for line in printed]
    assert [columns for columns in shown if columns not in lines] == [], block


def _is_header(line: str) -> bool:
    return bool(line.strip()) and line.upper() == line
