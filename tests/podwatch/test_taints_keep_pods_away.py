"""Pods do not ask for machines whose taint they do not tolerate."""

from typing import Any

import pytest

from bigfleet.edge.clock import SECOND
from bigfleet.model.errors import BadInput
from bigfleet.podwatch.book import Book
from bigfleet.podwatch.pod_reconciler import PodOutcome
from bigfleet.podwatch.requests import requirements_in
from bigfleet.podwatch.requirements import Requirement
from bigfleet.podwatch.settings import PodwatchSettings, contradictions_of
from bigfleet.podwatch.taints import taints_of
from tests.podwatch.pods import Json, expression, watched

GPU: Json = {
    "key": "dedicated",
    "value": "gpu",
    "effect": "NoSchedule",
    "where": {"matchLabels": {"pool": "gpu"}},
}
NOT_GPU = ("pool", "NotIn", ("gpu",))


def asked(*taints: Json, **spec: Any) -> tuple[Requirement, ...]:
    found = watched(taints=taints_of(taints), **spec)
    return requirements_in(found.alternatives[0].spec)


def test_a_pod_without_the_toleration_asks_for_other_machines() -> None:
    assert asked(GPU) == (NOT_GPU,)
    assert asked(GPU, nodeSelector={"zone": "a"}) == (NOT_GPU, ("zone", "In", ("a",)))


@pytest.mark.parametrize(
    "toleration",
    [
        pytest.param({"operator": "Exists"}, id="everything"),
        pytest.param({"key": "dedicated", "operator": "Exists"}, id="every value"),
        pytest.param({"key": "dedicated", "value": "gpu"}, id="that value"),
        pytest.param(
            {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}, id="to the letter"
        ),
    ],
)
def test_a_pod_that_tolerates_it_may_have_the_machine(toleration: Json) -> None:
    assert NOT_GPU not in asked(GPU, tolerations=[toleration])


@pytest.mark.parametrize(
    "toleration",
    [
        pytest.param({"key": "dedicated", "value": "web"}, id="another value"),
        pytest.param({"key": "other", "operator": "Exists"}, id="another key"),
        pytest.param(
            {"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}, id="another effect"
        ),
    ],
)
def test_a_pod_that_tolerates_something_else_may_not(toleration: Json) -> None:
    assert NOT_GPU in asked(GPU, tolerations=[toleration])


@pytest.mark.parametrize(
    ("where", "elsewhere"),
    [
        ({"matchLabels": {"pool": "gpu"}}, NOT_GPU),
        (
            {"matchExpressions": [expression("pool", "In", "gpu", "tpu")]},
            ("pool", "NotIn", ("gpu", "tpu")),
        ),
        ({"matchExpressions": [expression("gpu", "Exists")]}, ("gpu", "DoesNotExist", ())),
        (
            {"matchExpressions": [expression("cpu-only", "DoesNotExist")]},
            ("cpu-only", "Exists", ()),
        ),
        ({"matchExpressions": [expression("pool", "NotIn", "web")]}, ("pool", "In", ("web",))),
    ],
)
def test_a_selector_of_one_label_is_turned_round(where: Json, elsewhere: Requirement) -> None:
    assert asked(GPU | {"where": where}) == (elsewhere,)


def test_a_pod_that_requires_other_machines_anyway_asks_as_before() -> None:
    selector = {"pool": "web"}
    assert asked(GPU, nodeSelector=selector) == (("pool", "In", ("web",)),)


def test_a_pod_that_requires_tainted_machines_alone_asks_for_nothing_and_is_told() -> None:
    penalty = {"bigfleet.lucy.sh/interruption-penalty": "x"}
    pod = watched(
        taints=taints_of([GPU]), nodeSelector={"pool": "gpu"}, annotations=penalty, judged=False
    )
    book = Book()
    book.pod_changed(None, pod)
    assert book.decide("uid-web-1", {}, SECOND).outcome is PodOutcome.NOT_YET_KNOWN
    decision = book.decide("uid-web-1", {}, 5 * SECOND)
    assert (decision.outcome, decision.instructions) == (PodOutcome.NOT_DEMAND, ())
    (note,) = book.notes_for("uid-web-1", decision.outcome, decision.notes)
    assert note.reason == "TaintNotTolerated"
    assert "dedicated=gpu:NoSchedule" in note.text


def test_a_pod_that_runs_on_a_machine_that_was_tainted_later_keeps_its_request() -> None:
    pod = watched(taints=taints_of([GPU]), nodeSelector={"pool": "gpu"}, nodeName="n-1")
    book = Book()
    book.pod_changed(None, pod)
    assert book.decide("uid-web-1", {}, SECOND).outcome is PodOutcome.CREATED


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        pytest.param(
            GPU | {"where": {"matchLabels": {"a": "1", "b": "2"}}},
            r"taints\[0\].where: selects by 2 labels.*one label of their own",
            id="two labels",
        ),
        pytest.param(GPU | {"where": {}}, r"taints\[0\].where: is missing", id="no selector"),
        pytest.param(GPU | {"where": {"pool": "gpu"}}, r"not a label selector", id="bare labels"),
        pytest.param(GPU | {"effect": "PreferNoSchedule"}, r"keeps no pod away", id="a wish"),
        pytest.param({"where": GPU["where"]}, r"taints\[0\].key: is missing", id="no key"),
        pytest.param(GPU | {"colour": "red"}, r"taints\[0\].colour: no such key", id="unknown"),
        pytest.param(GPU | {"value": 7}, r"taints\[0\].value: 7 is not text", id="a number"),
        pytest.param(
            GPU | {"where": {"matchExpressions": [expression("pool", "Gt", "1")]}},
            r"where.matchExpressions\[0\]: needs a key, and an operator",
            id="a comparison",
        ),
        pytest.param(
            GPU | {"where": {"matchExpressions": [expression("pool", "In")]}},
            r"values belong to In and NotIn",
            id="no values",
        ),
    ],
)
def test_what_cannot_be_said_with_requirements_is_refused_at_the_start(
    said: Json, problem: str
) -> None:
    with pytest.raises(BadInput, match=problem):
        taints_of([said])
    ((key, _),) = contradictions_of(PodwatchSettings(taints=(said,)))[:1]
    assert key == "taints"


def test_what_is_right_contradicts_nothing() -> None:
    assert contradictions_of(PodwatchSettings(taints=(GPU,))) == []
