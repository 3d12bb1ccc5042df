"""A Need whose pods no known kind of machine takes together asks in groups of their sizes."""

from bigfleet.kube.objects import ObjectKey
from bigfleet.model.resources import Resources
from bigfleet.placement.overhead import LARGE_CPU, LARGE_MEMORY, NO_KNOWN_KIND
from tests.operator_demand.demand import Operator

MUCH_CPU = Resources.parse({"cpu": "8", "memory": "8Gi"})
MUCH_MEMORY = Resources.parse({"cpu": "2", "memory": "32Gi"})


def operator_with_two_kinds() -> Operator:
    operator = Operator()
    operator.hears()
    operator.joins("m-1", MUCH_CPU)
    operator.joins("m-2", MUCH_MEMORY)
    operator.sends()
    return operator


def asks(operator: Operator, name: str, cpu: str, memory: str) -> None:
    operator.asks(name, resources={"cpu": cpu, "memory": memory})


def aggregates(operator: Operator) -> dict[str, Resources]:
    return {need.group: need.aggregate for need in operator.sends()}


def test_much_cpu_and_much_memory_ask_apart() -> None:
    operator = operator_with_two_kinds()
    asks(operator, "a", "7", "1Gi")
    asks(operator, "b", "1", "28Gi")
    assert aggregates(operator) == {
        LARGE_CPU: Resources.parse({"cpu": "7", "memory": "1Gi"}),
        LARGE_MEMORY: Resources.parse({"cpu": "1", "memory": "28Gi"}),
    }
    key = operator.book.need_of(ObjectKey("ns", "cr-b"))
    assert key is not None
    assert key.group == LARGE_MEMORY


def test_a_pod_that_no_machine_takes_does_not_hold_up_the_others() -> None:
    operator = operator_with_two_kinds()
    asks(operator, "a", "1", "1Gi")
    asks(operator, "b", "64", "1Gi")
    found = aggregates(operator)
    assert found[""] == Resources.parse({"cpu": "1", "memory": "1Gi"})
    assert found[NO_KNOWN_KIND] == Resources.parse({"cpu": "64", "memory": "1Gi"})


def test_they_are_one_need_again_when_the_odd_one_leaves() -> None:
    operator = operator_with_two_kinds()
    asks(operator, "a", "7", "1Gi")
    asks(operator, "b", "1", "28Gi")
    operator.puts(operator.pod("a"))
    assert len(aggregates(operator)) == 2
    assert operator.book.take_moved()
    operator.view.on_needs_moved(operator.at)
    waiting = operator.occupancy.pods["uid-a"].need
    assert waiting is not None
    assert waiting.group == LARGE_CPU
    operator.withdraws("b")
    assert aggregates(operator) == {"": Resources.parse({"cpu": "7", "memory": "1Gi"})}
    assert operator.book.take_moved()
    operator.view.on_needs_moved(operator.at)
    waiting = operator.occupancy.pods["uid-a"].need
    assert waiting is not None
    assert waiting.group == ""


def test_a_split_loses_no_pod_and_counts_every_pod() -> None:
    operator = operator_with_two_kinds()
    for number in range(30):
        asks(operator, f"p{number}", str(1 + number % 9), f"{1 + (number * 5) % 29}Gi")
    total = Resources()
    for need in operator.sends():
        total = total.plus(need.aggregate)
    cpus = sum(1 + number % 9 for number in range(30))
    memory = sum(1 + (number * 5) % 29 for number in range(30))
    assert total == Resources.parse({"cpu": str(cpus), "memory": f"{memory}Gi"})
    for number in range(30):
        operator.withdraws(f"p{number}")
    assert operator.sends() == ()
    assert len(operator.book) == 0


def test_without_a_known_kind_nothing_is_split() -> None:
    operator = Operator()
    operator.hears()
    asks(operator, "a", "7", "1Gi")
    asks(operator, "b", "1", "280Gi")
    assert list(aggregates(operator)) == [""]
