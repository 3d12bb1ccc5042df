"""One user of a namespace asks for as much and as oddly as the API server takes: the others of the
cluster are served, and where the shard refuses all of it, people in the cluster read why.

Real processes: an operator, a shard, and a provider that does not check.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bigfleet.kube.kinds import CAPACITY_REQUESTS, EVENTS
from tests.attacks.test_full_disks import typed
from tests.attacks.test_injected_text import (
    CarelessProvider,
    idle,
    metrics_of,
    provided,
    request,
)
from tests.kube_api import FakeApiServer, kubeconfig_for
from tests.nightly import IS_NIGHTLY
from tests.shard_processes.process import Running, serving, shard_words
from tests.shard_system.waiting import until

#: Odd requests of the user; two thousand of them in a full run.
MANY = 2_000 if IS_NIGHTLY else 100
#: Unusual resources of a cluster that are told.
TOLD = 60


def odd(number: int) -> dict[str, Any]:
    """Named so that a list has them first. Of another priority than those of the others: requests
    of one profile are one row while no kind of machine is known."""
    asked = request(f"a-{number:04}", "std-8")
    spec = asked["spec"]
    assert isinstance(spec, dict)
    spec["priority"] = -1
    spec["resources"] = {"cpu": "1", f"evil.example/r{number}": "1"}
    return asked


def heavy() -> dict[str, Any]:
    return request("a-heavy", *(f"v{number}" for number in range(1_001)))


@asynccontextmanager
async def fleet(
    folder: Path, server: FakeApiServer, *settings: str
) -> AsyncIterator[tuple[CarelessProvider, Running, Running]]:
    provider = CarelessProvider({"sim/m-1": idle("sim/m-1")})
    (folder / "kubeconfig").write_text(kubeconfig_for(server))
    (folder / "bootstrap.tmpl").write_text("join {{ .ClusterID }}\n")
    async with (
        provided(provider) as address,
        serving(*shard_words(folder / "data", address, *settings)) as shard,
        serving(
            *("operator", "--cluster-id", "shop", "--shard-addr", shard.address),
            *("--kubeconfig", str(folder / "kubeconfig"), "--namespace", "bigfleet"),
            *("--metrics-addr", "127.0.0.1:0", "--rollup-debounce", "50ms"),
            *("--rollup-interval", "500ms", "--qps", "1000", "--burst", "1000"),
            *("--bootstrap-template-file", str(folder / "bootstrap.tmpl")),
        ) as operator,
    ):
        yield provider, shard, operator


def told_in(server: FakeApiServer, reason: str) -> list[dict[str, Any]]:
    return [each for each in server.objects(EVENTS).values() if each["reason"] == reason]


async def test_what_is_beyond_the_budget_is_left_out_and_the_others_are_served(
    tmp_path: Path,
) -> None:
    async with FakeApiServer() as server:
        for number in range(MANY):
            server.put(CAPACITY_REQUESTS, odd(number))
        server.put(CAPACITY_REQUESTS, heavy())
        server.put(CAPACITY_REQUESTS, request("web", "std-8"))
        async with fleet(tmp_path, server) as (provider, shard, operator):
            await until(lambda: provider.blobs, lambda: (shard.lines[-3:], operator.lines[-3:]))
            left_out = MANY - TOLD + 1
            reason = "UntranslatableRequirement"
            await until(lambda: len(told_in(server, reason)) >= min(left_out, 1_000))
            page = await metrics_of(operator)
            assert f"bigfleet_operator_crs_skipped {left_out}" in page
            assert shard.logged("rollup_rejected") == []
    said = {each["involvedObject"]["name"]: each["message"] for each in told_in(server, reason)}
    assert "web" not in said
    assert "1001 values, 1000 fit" in said["a-heavy"]
    assert "more than 60 unusual resources" in said[f"a-{MANY - 1:04}"]


async def test_people_in_the_cluster_and_at_the_shard_read_why_all_of_it_is_refused(
    tmp_path: Path,
) -> None:
    """The shard is set to take less than the operator knows."""
    async with FakeApiServer() as server:
        server.put(CAPACITY_REQUESTS, odd(1))
        async with fleet(tmp_path, server, "--rollup-max-resource-names", "1") as found:
            _, shard, operator = found
            why = "distinct resource names: 2 sent, 1 allowed; see rollup.max_resource_names"
            await until(lambda: told_in(server, "RollupRefused"), lambda: operator.lines[-3:])
            (event,) = told_in(server, "RollupRefused")
            assert why in event["message"]
            assert "bigfleet_operator_rollup_refused 1" in await metrics_of(operator)
            (line,) = operator.logged("rollup.refused")
            assert why in line["msg"]
            for words in (["clusters"], ["describe", "cluster", "shop"]):
                shown = await typed(*words, "--shard", shard.address)
                assert why in " ".join(shown.output.split()), words
            # It is mended, and taken.
            server.put(CAPACITY_REQUESTS, request("a-0001", "std-8"))
            await until(lambda: operator.logged("rollup.taken"), lambda: operator.lines[-3:])
