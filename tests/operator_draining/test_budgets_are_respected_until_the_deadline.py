"""A budget may hold a pod for the whole grace; what held it is said at the end."""

import pytest

from bigfleet.edge.counts import Counts
from bigfleet.model.machines import MachineState
from bigfleet.model.options import SECOND
from bigfleet.operator.drain_steps import Cordon, DrainPhase
from bigfleet.operator.evictions import Evictions, obstacle_of
from tests.operator_draining.rig import (
    ID,
    REFUSED,
    Rig,
    draining,
    joined,
    node_record,
    pod_record,
)

S = MachineState
WEB = pod_record("web-0")


def blocked(grace: int = 10) -> Rig:
    """Every eviction is refused until the grace is over."""
    rig = draining(WEB, grace=grace)
    for _ in range(grace * 4):
        for pod in rig.evictions():
            rig.refuse(pod)
        rig.wait(0.25)
    return rig


def test_a_refused_pod_is_asked_again_after_the_pause_and_not_before() -> None:
    rig = draining(WEB)
    assert rig.evictions() == [WEB]
    rig.refuse(WEB)
    rig.wait(1.9)
    assert rig.evictions() == []
    rig.wait(0.1)
    assert rig.evictions() == [WEB]


def test_the_pause_varies_so_that_many_pods_do_not_ask_at_once() -> None:
    draws = iter([0.0, 1.0])
    evictions = Evictions(lambda: next(draws), Counts())
    pods = [pod_record("a"), pod_record("b")]
    assert [step.pod for step in evictions.ask(ID, pods, 0)] == pods
    for pod in pods:
        evictions.on_blocked(pod, REFUSED, 2.0, 0)
    assert [due / SECOND for due in evictions.due()] == [1.5, 2.5]


def test_an_eviction_that_got_no_answer_is_asked_again() -> None:
    rig = draining(WEB)
    rig.evictions()
    rig.steps += rig.drains.on_eviction_failed(WEB, "no answer", rig.at)
    rig.wait(2)
    assert rig.evictions() == [WEB]


def test_at_the_deadline_the_answer_is_not_evicted_and_asking_ends() -> None:
    rig = blocked()
    assert rig.acks() == [(ID, 0)]
    assert rig.counts.of("reclaims_total", result="deadline") == 1
    rig.wait(60)
    assert (rig.evictions(), rig.acks()) == ([], [])
    assert rig.is_cordoned()


def test_the_deadline_is_not_early() -> None:
    rig = draining(WEB, grace=10)
    rig.wait(9.999)
    assert rig.acks() == []
    rig.wait(0.001)
    assert rig.acks() == [(ID, 0)]


def test_budget_and_pod_are_named_on_the_node_and_on_the_upcoming_node() -> None:
    rig = blocked()
    started, warning = rig.told()
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
    standing = rig.drains.drain_of("m-1")
    assert standing is not None
    assert (standing.phase, standing.last_error) == (DrainPhase.DRAINING, warning.message)


def test_refusals_are_counted_by_the_namespace_of_the_budget() -> None:
    rig = blocked()
    assert rig.counts.of("eviction_blocked_total", budget_namespace="shop") == 5


def test_a_429_of_a_busy_server_is_not_a_budget() -> None:
    rig = draining(WEB)
    rig.evictions()
    rig.refuse(WEB, "Too many requests, please try again later.")
    assert rig.counts.of("eviction_blocked_total", budget_namespace="shop") == 0
    rig.wait(2)
    assert rig.evictions() == [WEB]


def test_a_pod_that_does_not_end_in_time_is_named_as_such() -> None:
    rig = draining(WEB, grace=10)
    rig.steps += rig.drains.on_evicted(WEB, rig.at)
    rig.has_pod(pod_record("web-0", deleting=True))
    rig.wait(10)
    assert rig.acks() == [(ID, 0)]
    assert "shop/web-0 (asked to end, still running)" in rig.told()[-1].message


def test_of_many_pods_a_few_are_named_and_the_rest_counted() -> None:
    rig = draining(*(pod_record(f"web-{i}") for i in range(8)), grace=10)
    rig.wait(10)
    message = rig.told()[-1].message
    assert "8 pods left: shop/web-0" in message
    assert message.endswith("and 3 more")


def test_one_pod_left_on_one_of_two_nodes_makes_it_none() -> None:
    rig = joined(WEB)
    rig.has_node(node_record("n-2"))
    rig.tells(S.CONFIGURED, "m-2", "n-2")
    rig.asks("n-1", "n-2", grace=10)
    rig.answer_cordons()
    assert rig.acks() == [(ID, 2)]
    rig.wait(10)
    assert rig.acks() == [(ID, 0)]


def test_a_node_that_was_never_cordoned_is_answered_twice_with_none() -> None:
    rig = joined(WEB)
    rig.asks(grace=10)
    rig.take(Cordon)
    rig.steps += rig.drains.on_cordon_failed("n-1", "nodes is forbidden", rig.at)
    rig.wait(10)
    assert rig.acks() == [(ID, 0), (ID, 0)]
    assert "n-1 could not be cordoned: nodes is forbidden" in rig.told()[-1].message


def test_a_grace_of_nothing_is_the_default() -> None:
    rig = draining(WEB, grace=0)
    rig.wait(29.9)
    assert rig.acks() == []
    rig.wait(0.1)
    assert rig.acks() == [(ID, 0)]


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
