"""Of several node affinity terms one is asked for at a time, and which one is on the request."""

from typing import Any

import msgspec
import pytest

from bigfleet.edge.clock import SECOND
from bigfleet.kube.objects import AvailableCapacity, ObjectKey
from bigfleet.podwatch.affinity_terms import TermSupply, has_supply, supply_of
from bigfleet.podwatch.book import Book
from bigfleet.podwatch.fleet_nodes import NodeFacts
from bigfleet.podwatch.pod_reconciler import Create, Decision, Patch, PodOutcome
from bigfleet.podwatch.records import WatchedPod
from bigfleet.podwatch.requests import requirements_in
from tests.podwatch.pods import Json, affinity, expression, own, watched

UID = "uid-web-1"
AT = 1_700_000_000 * SECOND
TERMS = [{"matchExpressions": [expression("zone", "In", each)]} for each in ("a", "b", "c")]
ANNOTATION = "bigfleet.lucy.sh/affinity-term"


def flexible(**words: Any) -> WatchedPod:
    return watched(affinity=affinity(*TERMS), **words)


def spec_of(number: int) -> bytes:
    return flexible().spec({}, number) or b""


def available(availability: str, *requirements: Json) -> TermSupply:
    body = {
        "metadata": {"name": "ac"},
        "spec": {"availability": availability, "requirements": list(requirements)},
    }
    return supply_of(msgspec.convert(body, AvailableCapacity))


def book_with(*hints: TermSupply) -> Book:
    supplies = {ObjectKey("", str(number)): hint for number, hint in enumerate(hints)}
    book = Book(supplies=supplies)
    book.pod_changed(None, flexible())
    return book


def asking(book: Book, term: str, *, acknowledged: bool = True, spec: bytes | None = None) -> None:
    """As the cache shows its request."""
    number = int(term[0]) - 1 if term else 0
    shown = own("cr-1", spec=spec or spec_of(number), acknowledged=acknowledged, term=term)
    (before,) = book.of(UID) or (None,)
    book.request_changed(before, shown)


def looked_at(book: Book, seconds: float = 0) -> Decision:
    return book.decide(UID, {}, AT + round(seconds * SECOND))


def first_asked(book: Book) -> str:
    (create,) = looked_at(book).instructions
    assert isinstance(create, Create)
    return create.term


def patched_to(decision: Decision) -> str:
    (patch,) = decision.instructions
    assert isinstance(patch, Patch)
    meta = patch.patch["metadata"]
    assert isinstance(meta, dict)
    return str(meta["annotations"][ANNOTATION])


def test_without_hints_the_first_term_is_asked_for_and_the_request_says_so() -> None:
    (create,) = looked_at(book_with()).instructions
    assert isinstance(create, Create)
    body = create.body()
    assert body["metadata"]["annotations"] == {ANNOTATION: "1/3"}  # type: ignore[index]
    assert requirements_in(create.spec) == (("zone", "In", ("a",)),)


def test_a_pod_with_one_term_has_no_annotation() -> None:
    book = Book()
    book.pod_changed(None, watched(affinity=affinity(TERMS[0])))
    (create,) = looked_at(book).instructions
    assert isinstance(create, Create)
    assert "annotations" not in create.body()["metadata"]  # type: ignore[operator]


def test_the_first_term_with_supply_is_asked_for() -> None:
    in_b = available("Low", expression("zone", "In", "b"))
    assert first_asked(book_with(in_b)) == "2/3"
    assert first_asked(book_with(available("None", expression("zone", "In", "b")))) == "1/3"


@pytest.mark.parametrize(
    ("hints", "found"),
    [
        pytest.param([], False, id="nothing is known"),
        pytest.param([available("High")], True, id="anything is there"),
        pytest.param([available("High", expression("gpu", "Exists"))], True, id="may be the same"),
        pytest.param([available("High", expression("zone", "In", "b"))], False, id="elsewhere"),
        pytest.param(
            [available("High"), available("None", expression("zone", "In", "a"))],
            False,
            id="what speaks of exactly this decides",
        ),
    ],
)
def test_hints_that_do_not_contradict_a_term_speak_for_it(
    hints: list[TermSupply], found: bool
) -> None:
    assert has_supply(spec_of(0), hints) is found


def test_after_a_minute_without_a_node_the_next_is_tried_in_a_ring() -> None:
    book = book_with()
    asking(book, "1/3")
    assert looked_at(book) == Decision(PodOutcome.EXISTS, (), AT + 60 * SECOND)
    assert looked_at(book, 59).instructions == ()
    for seconds, term in ((60, "2/3"), (120, "3/3"), (180, "1/3")):
        assert patched_to(looked_at(book, seconds)) == term
        asking(book, term)
        assert looked_at(book, seconds + 59).instructions == ()


def test_an_unacknowledged_term_has_not_been_tried() -> None:
    book = book_with()
    asking(book, "1/3", acknowledged=False)
    assert looked_at(book, 3600) == Decision(PodOutcome.EXISTS)
    asking(book, "1/3")
    assert looked_at(book, 3600).again_at == AT + 3660 * SECOND


def test_a_change_that_was_refused_is_tried_again() -> None:
    book = book_with()
    asking(book, "1/3")
    looked_at(book)
    assert patched_to(looked_at(book, 60)) == "2/3"
    assert patched_to(looked_at(book, 65)) == "2/3"


def test_a_foreign_change_starts_the_minute_anew() -> None:
    book = book_with()
    asking(book, "1/3")
    looked_at(book)
    asking(book, "3/3")
    looked_at(book, 70)
    assert looked_at(book, 129).instructions == ()
    assert patched_to(looked_at(book, 130)) == "1/3"


def test_the_next_process_goes_on_with_the_term_on_the_request() -> None:
    book = book_with(available("High", expression("zone", "In", "a")))
    asking(book, "2/3")
    assert looked_at(book).instructions == ()
    assert patched_to(looked_at(book, 60)) == "3/3"


def test_a_request_of_an_older_version_is_known_by_what_it_asks_for() -> None:
    book = book_with(available("High", expression("zone", "In", "c")))
    asking(book, "", spec=spec_of(1))
    decision = looked_at(book)
    assert patched_to(decision) == "2/3"


def test_an_annotation_that_makes_no_sense_is_put_right() -> None:
    book = book_with()
    asking(book, "9/9", spec=b'{"requirements":[],"resources":{},"priority":0}')
    assert patched_to(looked_at(book)) == "1/3"


# -- pods that have a Node -----------------------------------------------------------------------


def bound_in(zone: str, term: str) -> Decision:
    book = Book()
    book.pod_changed(None, flexible(nodeName="n-1"))
    book.nodes.node_changed("n-1", NodeFacts("u", "", {"zone": zone}), AT)
    if term:
        asking(book, term)
    return looked_at(book, 3600)


def test_a_pod_that_has_a_node_keeps_the_term_the_node_meets() -> None:
    assert bound_in("b", "2/3") == Decision(PodOutcome.EXISTS)


def test_a_pod_that_found_another_node_than_it_asked_for_asks_for_what_it_has() -> None:
    assert patched_to(bound_in("c", "1/3")) == "3/3"


def test_a_pod_that_was_placed_before_it_asked_asks_for_what_it_has() -> None:
    (create,) = bound_in("b", "").instructions
    assert isinstance(create, Create)
    assert create.term == "2/3"


def test_a_node_that_meets_no_term_changes_nothing() -> None:
    assert bound_in("elsewhere", "2/3") == Decision(PodOutcome.EXISTS)


def test_what_is_kept_of_a_pod_that_chooses_goes_with_it() -> None:
    book = book_with()
    asking(book, "1/3")
    looked_at(book)
    assert book.sizes()["podsChoosingTerms"] == 1
    book.pod_changed(flexible(), None)
    assert book.sizes()["podsChoosingTerms"] == 0
