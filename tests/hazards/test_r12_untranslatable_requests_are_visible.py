"""R12: a request with Gt or Lt is never skipped in silence, and never costs the others."""

import pytest

from bigfleet.operator.acknowledgements import Acknowledgements
from bigfleet.operator.rollup import DemandBook
from bigfleet.wire.rollups import RollupReader
from tests.cluster_demand.requests import key, spec, term

VALID = ("web-0", "web-1", "web-2")
TROUBLES = {
    "greater than": (spec(requirements=[term("Gt", ["8"], "cores")]), "operator"),
    "less than": (spec(requirements=[term("Lt", ["8"], "cores")]), "operator"),
    "an unknown operator": (spec(requirements=[term("Near", ["x"])]), "operator"),
    "a bad quantity": (spec(resources={"cpu": "a lot"}), "quantity"),
}


def book_with(trouble: bytes) -> DemandBook:
    book = DemandBook("shop")
    for name in VALID[:2]:
        assert book.put(key(name), name, spec(), "Pending") is None
    found = book.put(key("odd"), "odd", trouble, "Pending")
    assert found is not None, "it is told, so that it can be counted and announced"
    book.put(key(VALID[2]), VALID[2], spec(), "Pending")
    return book


@pytest.mark.parametrize("case", TROUBLES)
def test_r12_the_rest_rolls_up(case: str) -> None:
    book = book_with(TROUBLES[case][0])
    read = RollupReader().read(book.rollup(1), "shop", 10)
    assert [need.aggregate["cpu"] for need in read.needs] == [3000]


@pytest.mark.parametrize("case", TROUBLES)
def test_r12_it_is_known_with_its_reason_its_field_and_what_to_do(case: str) -> None:
    trouble, reason = TROUBLES[case]
    book = book_with(trouble)
    (found,) = book.skipped.values()
    assert list(book.skipped) == [key("odd")]
    assert found.reason == reason
    assert found.field.startswith(("spec.requirements[0].operator", "spec.resources['cpu']"))
    assert book.need_of(key("odd")) is None


def test_r12_it_is_announced_once_for_each_text_it_had() -> None:
    book = book_with(TROUBLES["greater than"][0])
    assert book.put(key("odd"), "odd", TROUBLES["greater than"][0], "Pending") is None
    assert book.put(key("odd"), "odd", TROUBLES["less than"][0], "Pending") is not None


def test_r12_it_stays_pending_and_is_picked_up_once_it_is_fixed() -> None:
    book = book_with(TROUBLES["greater than"][0])
    acknowledgements = Acknowledgements(book)
    acknowledgements.on_sent(1)
    assert {k.name for k in acknowledgements.on_acked(2)} == set(VALID)
    assert book.put(key("odd"), "odd", spec(), "Pending") is None
    assert dict(book.skipped) == {}
    acknowledgements.on_sent(3)
    assert [k.name for k in acknowledgements.on_acked(4)] == ["odd"]
    read = RollupReader().read(book.rollup(5), "shop", 10)
    assert [need.aggregate["cpu"] for need in read.needs] == [4000]


def test_r12_a_request_that_goes_bad_withdraws_its_demand() -> None:
    book = DemandBook("shop")
    book.put(key("a"), "a", spec(), "Pending")
    book.rows()
    book.put(key("a"), "a", TROUBLES["less than"][0], "Pending")
    assert book.rows() == []
    book.remove(key("a"))
    assert dict(book.skipped) == {}
