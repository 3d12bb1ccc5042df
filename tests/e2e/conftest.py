"""What every e2e test may ask for; README.md in this folder says how."""

from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.rig.cluster import Cluster, visited
from tests.e2e.rig.control_plane import ControlPlane, control_planes
from tests.e2e.rig.faulty_api import FaultyApi, faulty_api_of
from tests.e2e.rig.fleet import Fleet, provided
from tests.e2e.rig.makers import Act, FaultsOf, MakeFleet, MakeProvider, OwnCluster
from tests.e2e.rig.node_actor import NodeActor, acting
from tests.e2e.rig.nodes import Naming, named_by_host

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is of `make e2e`, and `make test` leaves it out."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.e2e)


#: What tells of the processes of a test, should it fail.
SHOWN = pytest.StashKey[list[Callable[[], str]]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure comes with the end of every log."""
    report = yield
    if report.failed:
        told = [show() for show in item.stash.get(SHOWN, [])]
        report.sections += [("processes of the rig", text) for text in told]
    return report


def _shown_on_failure(request: pytest.FixtureRequest, show: Callable[[], str]) -> None:
    request.node.stash.setdefault(SHOWN, []).append(show)


@pytest.fixture(autouse=True)
def _kubectl_remembers_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it knew of a server that had the same port last week, or of this one before a test."""
    monkeypatch.setenv("KUBECACHEDIR", str(tmp_path / "kubectl-cache"))


@pytest.fixture(scope="session")
def east_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with control_planes(tmp_path_factory.mktemp("east"), "east") as (plane,):
        yield plane


@pytest.fixture(scope="session")
def west_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with control_planes(tmp_path_factory.mktemp("west"), "west") as (plane,):
        yield plane


@pytest.fixture
async def east(east_plane: ControlPlane, request: pytest.FixtureRequest) -> AsyncIterator[Cluster]:
    """A cluster whose control plane other tests use before and after: swept, not new."""
    _shown_on_failure(request, east_plane.shown)
    async with visited(east_plane) as cluster:
        yield cluster


@pytest.fixture
async def west(west_plane: ControlPlane, request: pytest.FixtureRequest) -> AsyncIterator[Cluster]:
    _shown_on_failure(request, west_plane.shown)
    async with visited(west_plane) as cluster:
        yield cluster


@pytest.fixture
async def own_cluster(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[OwnCluster]:
    """Makes clusters of this test alone, whose API server it may stop, restart and tune."""
    async with AsyncExitStack() as stack:

        async def make(name: str = "north", **api_server_flags: str) -> Cluster:
            flags = {key.replace("_", "-"): value for key, value in api_server_flags.items()}
            folder = tmp_path / f"plane-{name}"
            folder.mkdir()
            (plane,) = stack.enter_context(control_planes(folder, name, api_server_flags=flags))
            _shown_on_failure(request, plane.shown)
            return await stack.enter_async_context(visited(plane))

        yield make


@pytest.fixture
async def make_provider(
    tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[MakeProvider]:
    """Starts a provider without a shard: its machines are configured by hand."""
    async with AsyncExitStack() as stack:

        async def make(offers: Sequence[dict[str, Any]], /) -> Fleet:
            made = await stack.enter_async_context(provided(tmp_path / "fleet", offers))
            _shown_on_failure(request, made.processes.shown)
            return made

        yield make


@pytest.fixture
async def make_fleet(make_provider: MakeProvider) -> MakeFleet:
    """Starts a provider and a shard that serves it; settings are flags of the shard by name."""

    async def make(offers: Sequence[dict[str, Any]], /, **settings: str) -> Fleet:
        made = await make_provider(offers)
        await made.start_shard(**settings)
        return made

    return make


@pytest.fixture
async def act() -> AsyncIterator[Act]:
    """Lets a NodeActor play the kubelets of a cluster for the rest of the test."""
    async with AsyncExitStack() as stack:

        async def start(
            cluster: Cluster,
            of: Fleet,
            *,
            naming: Naming = named_by_host,
            tells_machine_id: bool = False,
        ) -> NodeActor:
            actor = acting(
                cluster.api,
                cluster.name,
                of.provider_address,
                naming=naming,
                tells_machine_id=tells_machine_id,
            )
            return await stack.enter_async_context(actor)

        yield start


@pytest.fixture
async def faults_of() -> AsyncIterator[FaultsOf]:
    """Puts a way to a cluster's API server on which requests can be made to fail."""
    async with AsyncExitStack() as stack:

        async def make(cluster: Cluster) -> FaultyApi:
            return await stack.enter_async_context(faulty_api_of(cluster.plane))

        yield make
