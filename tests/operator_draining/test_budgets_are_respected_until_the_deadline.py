"""A budget may hold a pod for the whole grace; what held it is said at the end."""

import pytest

from bigfleet.edge.counts import Counts
from bigfleet.model.machines import MachineState
from bigfleet.model.options import SECOND
from bigfleet.operator.blocked_drains import obstacle_of
from bigfleet.operator.drain_steps import Cordon, DrainPhase
from bigfleet.operator.evictions import Evictions
from tests.operator_draining.stage import (
    ID,
    REFUSED,
    Stage,
    draining,
    joined,
    node_record,
    pod_record,
)

S = MachineState
WEB = pod_record("web-0")


def blocked(grace: int = 10) -> Stage:
    """Every eviction is refused until the grace is over."""
    stage = draining(WEB, grace=grace)
    for _ in range(grace * 4):
        for pod in stage.evictions():
            stage.refuse(pod)
        stage.wait(0.25)
    return stage


def test_a_refused_pod_is_asked_again_after_the_pause_and_not_before() -> None:
    stage = draining(WEB)
    assert stage.evictions() == [WEB]
    stage.refuse(WEB)
    stage.wait(1.9)
    assert stage.evictions() == []
    stage.wait(0.1)
    assert stage.evictions() == [WEB]


def test_the_pause_varies_so_that_many_pods_do_not_ask_at_once() -> None:
    draws = iter([0.0, 1.0])
    evictions = Evictions(lambda: next(draws), Counts())
    pods = [pod_record("a"), pod_record("b")]
    assert [step.pod for step in evictions.ask(ID, pods, 0)] == pods
    for pod in pods:
        evictions.on_blocked(pod, REFUSED, 2.0, 0)
    assert [due / SECOND for due in evictions.due()] == [1.5, 2.5]


def test_an_eviction_that_got_no_answer_is_asked_again() -> None:
    stage = draining(WEB)
    stage.evictions()
    stage.steps += stage.drains.on_eviction_failed(WEB, "no answer", stage.at)
    stage.wait(2)
    assert stage.evictions() == [WEB]


def test_at_the_deadline_the_answer_is_none_evicted_and_asking_ends() -> None:
    stage = blocked()
    assert stage.acks() == [(ID, 0)]
    assert stage.counts.of("reclaims_total", result="deadline") == 1
    stage.wait(60)
    assert (stage.evictions(), stage.acks()) == ([], [])
    assert stage.is_cordoned()


def test_the_deadline_is_not_early() -> None:
    stage = draining(WEB, grace=10)
    stage.wait(9.999)
    assert stage.acks() == []
    stage.wait(0.001)
    assert stage.acks() == [(ID, 0)]


def test_budget_and_pod_are_named_on_the_node_and_on_the_upcoming_node() -> None:
    stage = blocked()
    started, warning = stage.told()
    assert (started.kind, started.reason) == ("Normal", "ReclaimStarted")
    assert (warning.kind, warning.reason) == ("Warning", "ReclaimBlocked")
    assert (warning.about.kind, warning.about.name, warning.about.uid) == (
        "Node",
        "n-1",
        "uid-n-1",
    )
    assert warning.message == (
        "the grace of 10 s is over: 1 pod left: shop/web-0 (held by budget shop/web "
        "needs 2 healthy pods and has 2 currently)"
    )
    standing = stage.drains.drain_of("m-1")
    assert standing is not None
    assert (standing.phase, standing.last_error) == (DrainPhase.DRAINING, warning.message)


def test_refusals_are_counted_by_the_namespace_of_the_budget() -> None:
    stage = blocked()
    assert stage.counts.of("eviction_blocked_total", budget_namespace="shop") == 5


def test_a_server_that_is_asked_too_fast_is_nobodys_budget() -> None:
    stage = draining(WEB)
    stage.evictions()
    stage.refuse(WEB, "Too many requests, please try again later.")
    assert stage.counts.of("eviction_blocked_total", budget_namespace="shop") == 0
    stage.wait(2)
    assert stage.evictions() == [WEB]


def test_a_pod_that_does_not_end_in_time_is_named_as_such() -> None:
    stage = draining(WEB, grace=10)
    stage.steps += stage.drains.on_evicted(WEB, stage.at)
    stage.has_pod(pod_record("web-0", deleting=True))
    stage.wait(10)
    assert stage.acks() == [(ID, 0)]
    assert "shop/web-0 (asked to end, still running)" in stage.told()[-1].message


def test_of_many_pods_a_few_are_named_and_the_rest_counted() -> None:
    stage = draining(*(pod_record(f"web-{i}") for i in range(8)), grace=10)
    stage.wait(10)
    message = stage.told()[-1].message
    assert "8 pods left: shop/web-0" in message
    assert message.endswith("and 3 more")


def test_one_pod_left_on_one_of_two_nodes_makes_it_none() -> None:
    stage = joined(WEB)
    stage.has_node(node_record("n-2"))
    stage.tells(S.CONFIGURED, "m-2", "n-2")
    stage.asks("n-1", "n-2", grace=10)
    stage.answer_cordons()
    assert stage.acks() == [(ID, 2)]
    stage.wait(10)
    assert stage.acks() == [(ID, 0)]


def test_a_node_that_was_never_cordoned_is_answered_twice_with_none() -> None:
    stage = joined(WEB)
    stage.asks(grace=10)
    stage.take(Cordon)
    stage.steps += stage.drains.on_cordon_failed("n-1", "nodes is forbidden", stage.at)
    stage.wait(10)
    assert stage.acks() == [(ID, 0), (ID, 0)]
    assert "n-1 could not be cordoned: nodes is forbidden" in stage.told()[-1].message


def test_a_grace_of_nothing_is_the_default() -> None:
    stage = draining(WEB, grace=0)
    stage.wait(29.9)
    assert stage.acks() == []
    stage.wait(0.1)
    assert stage.acks() == [(ID, 0)]


@pytest.mark.parametrize(
    ("answer", "budgets"),
    [
        (REFUSED, [("web", "needs 2 healthy pods and has 2 currently")]),
        (
            "The disruption budget web-1.eu is still being processed by the server.",
            [("web-1.eu", "is still being processed by the server")],
        ),
        ("Too many requests, please try again later.", []),
        ("This pod has more than one PodDisruptionBudget, which is not supported.", []),
    ],
    ids=["too-few-healthy", "not-yet-processed", "overload", "two-budgets"],
)
def test_the_budget_is_read_from_the_servers_words(
    answer: str, budgets: list[tuple[str, str]]
) -> None:
    assert list(obstacle_of(answer).budgets) == budgets
