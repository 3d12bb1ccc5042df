"""Nodes that turn Ready and back again and again: no machine came, so none is asked for."""

from dataclasses import replace

from bigfleet.placement.margin_notes import NoteKind
from tests.placement.situation import Situation
from tests.placement.small import pod


def flap(given: Situation, name: str, seconds: float = 20) -> None:
    """Not Ready for so long, and Ready again; the scheduler judges every pod that waits anew."""
    known = given.occupancy.nodes[name]
    broken = replace(known, why_not_usable="it is not Ready", since=given.at)
    given.occupancy.put_node(broken, given.at)
    given.after(seconds)
    given.occupancy.put_node(replace(broken, why_not_usable="", since=given.at), given.at)
    given.judge_again()
    given.after(1)


def one_stuck() -> Situation:
    """Two machines with a pod of five cpus each, and a third pod for which a machine was asked."""
    given = Situation()
    given.nodes(2)
    given.put(pod("a", "5", node="n1"), pod("b", "5", node="n2"))
    given.stuck(pod("c", "5"))
    given.after(10)
    given.round(own=2)
    assert given.margin == "cpu 5"
    return given


def test_a_node_that_comes_back_is_not_a_machine_that_came_in_vain() -> None:
    """There is no supply for the margin: the pod waits for a machine, which would help."""
    given = one_stuck()
    for _ in range(10):
        given.round(own=2)
        flap(given, "n1")
    given.round(own=2)
    assert given.margins.figures.fruitless == 0
    assert NoteKind.GIVEN_UP not in [note.kind for note in given.notes]
    assert given.margin == "cpu 5", "neither given up nor grown"


def test_a_margin_that_is_served_does_not_grow_while_nodes_flap() -> None:
    given = one_stuck()
    given.send()
    given.nodes(1, first=3)
    given.bind("c", "n3")
    for number in range(30):
        given.round(own=2, margin=1)
        flap(given, f"n{number % 3 + 1}")
    assert given.margin == "cpu 5"
    assert given.margins.figures.rounds == 1


def test_nothing_is_asked_for_while_a_node_of_the_need_is_not_ready() -> None:
    given = one_stuck()
    given.send()
    given.nodes(1, first=3)
    given.bind("c", "n3")
    given.round(own=2, margin=1)
    given.stuck(pod("d", "5"))
    dark = replace(given.occupancy.nodes["n2"], why_not_usable="it is not Ready", since=given.at)
    given.occupancy.put_node(dark, given.at)
    for _ in range(40):
        given.after(60)
        assert not given.round(own=3, margin=1)
    assert given.margins.figures.rounds == 1
