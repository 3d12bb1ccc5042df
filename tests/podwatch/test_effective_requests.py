"""What a pod takes of a node is what the scheduler counts, with any containers."""

from decimal import ROUND_CEILING, Decimal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.kube.objects import PodSpec, PodStatus
from bigfleet.kube.pod_requests import amounts_of, effective_requests, nanos_of, texts_of
from bigfleet.model.quantities import BadQuantity, quantity_of
from tests.podwatch.pods import Json

_SUFFIX = {"": "1", "m": "0.001", "u": "0.000001", "k": "1000", "Mi": str(2**20)}


def container(requests: Json | None = None, *, sidecar: bool = False, name: str = "c") -> Json:
    body: Json = {"name": name, "resources": {"requests": requests or {}}}
    return body | {"restartPolicy": "Always"} if sidecar else body


def requested(status: Json | None = None, **spec: object) -> dict[str, str]:
    read = msgspec.convert(status, PodStatus) if status is not None else None
    return texts_of(effective_requests(msgspec.convert(spec, PodSpec), read))


def of_cpu(status: Json | None = None, **spec: object) -> str:
    return requested(status, **spec)["cpu"]


def slow_requests(spec: Json) -> dict[str, Decimal]:
    """Every moment of a pod's start, one after the other, and the most of each dimension."""
    moments: list[list[Json]] = []
    running: list[Json] = []
    for init in spec["initContainers"]:
        moments.append([*running, init])
        if init.get("restartPolicy") == "Always":
            running.append(init)
    moments.append([*running, *spec["containers"]])
    most: dict[str, Decimal] = {}
    for moment in moments:
        for name in {name for each in moment for name in counted(each)}:
            asked = [counted(each).get(name, "0") for each in moment]
            most[name] = max(most.get(name, Decimal(0)), sum(map(decimal_of, asked), Decimal(0)))
    whole = spec.get("resources", {}).get("requests", {})
    for name in ("cpu", "memory", "hugepages-2Mi"):
        if name in whole:
            most[name] = decimal_of(whole[name])
    for name, text in spec["overhead"].items():
        most[name] = most.get(name, Decimal(0)) + decimal_of(text)
    return most


def counted(each: Json) -> Json:
    asked: Json = each["resources"]["requests"]
    return {"cpu": "100m", "memory": "200Mi"} | asked


def decimal_of(text: str) -> Decimal:
    number = text.rstrip("muk" + "Mi")
    return Decimal(number) * Decimal(_SUFFIX[text.removeprefix(number)])


quantities = st.builds(
    lambda number, suffix: f"{number}{suffix}", st.integers(0, 5000), st.sampled_from(list(_SUFFIX))
)
names = st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "hugepages-2Mi"])
requests = st.dictionaries(names, quantities, max_size=4)
containers = st.lists(st.builds(container, requests), max_size=4)
inits = st.lists(st.builds(container, requests, sidecar=st.booleans()), max_size=5)
specs = st.fixed_dictionaries(
    {"containers": containers, "initContainers": inits, "overhead": requests},
    optional={"resources": st.fixed_dictionaries({"requests": requests})},
)


@given(specs)
def test_the_sum_is_that_of_the_worst_moment_of_its_start(spec: Json) -> None:
    expected = {
        name: int(
            (amount * (1000 if name == "cpu" else 1)).to_integral_value(rounding=ROUND_CEILING)
        )
        for name, amount in slow_requests(spec).items()
    }
    found = requested(**spec)
    assert {name: quantity_of(name, text) for name, text in found.items()} == expected


@given(specs)
def test_what_a_pod_counts_with_is_never_less_than_what_its_containers_ask_for(spec: Json) -> None:
    spec.pop("resources", None)
    found = requested(**spec)
    for name in {name for each in spec["containers"] for name in each["resources"]["requests"]}:
        asked = [each["resources"]["requests"].get(name, "0") for each in spec["containers"]]
        total = sum(map(decimal_of, asked), Decimal(0)) * (1000 if name == "cpu" else 1)
        assert quantity_of(name, found[name]) >= total


@given(specs, requests)
def test_a_resize_under_way_counts_with_at_least_what_is_asked_for(spec: Json, has: Json) -> None:
    status = {"containerStatuses": [{"name": "c", "resources": {"requests": has}}]}
    before, now = requested(**spec), requested(status, **spec)
    # Where a container asks for nothing, what it was given replaces the assumption.
    both = [*spec["containers"], *spec["initContainers"]]
    asked = [name for name in before if all(name in c["resources"]["requests"] for c in both)]
    assert all(quantity_of(name, now[name]) >= quantity_of(name, before[name]) for name in asked)


def test_an_init_container_that_is_larger_than_the_rest_counts_alone() -> None:
    asked = of_cpu(
        containers=[container({"cpu": "1"}), container({"cpu": "500m"})],
        initContainers=[container({"cpu": "4"}), container({"cpu": "2"})],
    )
    assert asked == "4"


def test_a_sidecar_counts_with_the_containers_and_with_every_init_container_after_it() -> None:
    sidecar, large = container({"cpu": "1"}, sidecar=True), container({"cpu": "4"})
    main = [container({"cpu": "2"})]
    assert of_cpu(containers=main, initContainers=[sidecar]) == "3"
    assert of_cpu(containers=main, initContainers=[sidecar, large]) == "5"
    assert of_cpu(containers=main, initContainers=[large, sidecar]) == "4"


def test_overhead_comes_on_top_of_the_peak() -> None:
    assert requested(
        containers=[container({"cpu": "1"})],
        initContainers=[container({"cpu": "2"})],
        overhead={"cpu": "250m", "memory": "64Mi"},
    ) == {"cpu": "2250m", "memory": "264Mi"}


def test_requests_of_the_whole_pod_stand_in_for_its_containers_but_not_for_devices() -> None:
    assert requested(
        containers=[container({"cpu": "1", "nvidia.com/gpu": "2"})],
        resources={"requests": {"cpu": "3", "nvidia.com/gpu": "9"}},
        overhead={"cpu": "1"},
    ) == {"cpu": "4", "memory": "200Mi", "nvidia.com/gpu": "2"}


def test_limits_stand_in_for_requests_that_are_not_there_as_they_do_once_it_is_a_pod() -> None:
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "4", "memory": "2Gi"}}
    limited: Json = {"name": "c", "resources": resources}
    assert requested(containers=[limited], initContainers=[container({"memory": "1Gi"})]) == {
        "cpu": "1",
        "memory": "2Gi",
    }
    whole = {"limits": {"cpu": "8", "memory": "3Gi", "nvidia.com/gpu": "1"}}
    assert requested(containers=[container({"cpu": "2"})], resources=whole) == {
        "cpu": "2",
        "memory": "3Gi",
    }


def test_fractions_are_added_before_they_are_rounded() -> None:
    assert of_cpu(containers=[container({"cpu": "0.4m"})] * 3) == "2m"


# -- what the scheduler assumes ------------------------------------------------------------------


def test_a_container_without_requests_counts_with_the_defaults_of_the_scheduler() -> None:
    assert requested(containers=[container()]) == {"cpu": "100m", "memory": "200Mi"}
    two = [container(), container({"cpu": "1"})]
    assert requested(containers=two) == {"cpu": "1100m", "memory": "400Mi"}


def test_a_request_of_nothing_is_taken_at_its_word() -> None:
    assert requested(containers=[container({"cpu": "0", "memory": "0"})]) == {
        "cpu": "0",
        "memory": "0",
    }


def test_requests_of_the_whole_pod_replace_the_defaults_of_its_containers() -> None:
    whole = {"requests": {"cpu": "50m", "memory": "10Mi"}}
    assert requested(containers=[container()] * 3, resources=whole) == {
        "cpu": "50m",
        "memory": "10Mi",
    }


# -- pods that are resized -----------------------------------------------------------------------


def resizing(allocated: str, running: str, **status: object) -> Json:
    resources = {"requests": {"cpu": running}}
    each = {"name": "c", "resources": resources, "allocatedResources": {"cpu": allocated}}
    return {"containerStatuses": [each], **status}


@pytest.mark.parametrize(
    ("asked", "allocated", "running", "counted_as"),
    [
        pytest.param("4", "1", "1", "4", id="growth that waits asks for its room"),
        pytest.param("1", "4", "4", "4", id="what shrinks keeps its room until it is given back"),
        pytest.param("1", "1", "4", "4", id="what still runs counts"),
        pytest.param("2", "2", "2", "2", id="nothing to do"),
    ],
)
def test_a_resize_counts_with_the_most_of_what_is_asked_admitted_and_running(
    asked: str, allocated: str, running: str, counted_as: str
) -> None:
    status = resizing(allocated, running)
    assert of_cpu(status, containers=[container({"cpu": asked})]) == counted_as


@pytest.mark.parametrize(
    "infeasible",
    [
        pytest.param(
            {"conditions": [{"type": "PodResizePending", "reason": "Infeasible"}]}, id="as now"
        ),
        pytest.param({"resize": "Infeasible"}, id="up to 1.32"),
    ],
)
def test_a_resize_that_its_node_can_never_give_counts_with_what_there_is(infeasible: Json) -> None:
    status = resizing("1", "1", **infeasible)
    assert of_cpu(status, containers=[container({"cpu": "64"})]) == "1"


def test_a_sidecar_that_is_resized_counts_like_a_container() -> None:
    each = {"name": "proxy", "resources": {"requests": {"cpu": "3"}}}
    proxy = container({"cpu": "1"}, sidecar=True, name="proxy")
    main = [container({"cpu": "1"})]
    status = {"initContainerStatuses": [each]}
    assert of_cpu(status, containers=main, initContainers=[proxy]) == "4"


@pytest.mark.parametrize("text", ["", "1Gib", "--1", "-1", "one", "1e1234"])
def test_what_is_not_a_quantity_is_named(text: str) -> None:
    with pytest.raises(BadQuantity, match=r"memory: "):
        amounts_of({"cpu": "1", "memory": text})


@pytest.mark.parametrize(
    ("said", "nanos"),
    [("1", 10**9), (2, 2 * 10**9), (0.5, 5 * 10**8), ("1Ki", 1024 * 10**9), ("1n", 1), ("0.1n", 1)],
)
def test_a_quantity_is_counted_in_billionths(said: str | int | float, nanos: int) -> None:
    assert nanos_of(said) == nanos
