"""The demand of a cluster, kept up to date request by request."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.kube.objects import ObjectKey
from bigfleet.model.needs import Need, aggregate
from bigfleet.model.quantities import LARGEST_OF_NEED
from bigfleet.model.resources import Resources
from bigfleet.operator.rollup import DemandBook
from bigfleet.operator.translator import TranslatedDemand, Translator, translate
from bigfleet.wire.rollups import RollupReader
from tests.cluster_demand.requests import RACK, demand, key, spec, spread, term, together

AT = 1_700_000_000_000_000_000


def pending(book: DemandBook, name: str, text: bytes) -> None:
    book.put(key(name), f"uid-{name}", text, "Pending")


# Few of everything, so that requests share rows and texts, and rows come and go.
resources = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.sampled_from(["0", "1", "1500m", "3"]),
        "memory": st.sampled_from(["1Gi", "2Gi"]),
        "nvidia.com/gpu": st.sampled_from([0, 8]),
    },
)
specs = st.builds(
    lambda **fields: spec(**{name: value for name, value in fields.items() if value is not None}),
    requirements=st.sampled_from([[], [term()], [term("In", ["b", "a"])], [term("Gt", ["4"])]]),
    resources=resources | st.just({"cpu": "much"}),
    priority=st.sampled_from([0, 1000]),
    interruptionPenalty=st.sampled_from([None, "0", "500m"]),
    topologySpread=st.sampled_from([None, [spread("ScheduleAnyway")], [spread()]]),
    coLocation=st.sampled_from([None, together({"app": "a"}), together({"app": "b"})]),
)
names = st.sampled_from("abcdefgh")
puts = st.tuples(names, specs, st.sampled_from(["Pending", "Acknowledged"]))
changes = st.lists(st.one_of(puts, names, st.none()), max_size=40)


def oracle(requests: dict[ObjectKey, bytes]) -> list[Need]:
    found = [d for text in requests.values() if isinstance(d := translate(text), TranslatedDemand)]
    needs = aggregate(Need("shop", d.profile, d.unit, d.unit, group=d.group) for d in found)
    return sorted(needs, key=lambda need: need.key)


@given(changes)
@settings(deadline=None, max_examples=200)
def test_however_requests_come_and_go_the_book_is_what_a_new_one_would_be(
    history: Sequence[tuple[str, bytes, str] | str | None],
) -> None:
    """A name removes that request; None asks for the roll-up in between."""
    book, requests = DemandBook("shop"), dict[ObjectKey, bytes]()
    for change in history:
        match change:
            case None:
                assert list(book.needs()) == oracle(requests)
            case str(name):
                book.remove(key(name))
                requests.pop(key(name), None)
            case name, text, phase:
                book.put(key(name), f"uid-{name}", text, phase)
                requests[key(name)] = text
    assert list(book.needs()) == oracle(requests)
    anew = DemandBook("shop")
    for place, text in sorted(requests.items()):
        anew.put(place, f"uid-{place.name}", text, "Pending")
    assert book.rollup(AT) == anew.rollup(AT)
    assert dict(book.skipped) == dict(anew.skipped)
    assert {k: book.need_of(k) for k in requests} == {k: anew.need_of(k) for k in requests}


@given(st.lists(puts, max_size=12))
@settings(deadline=None)
def test_a_shard_reads_the_needs_the_book_holds(requests: Sequence[tuple[str, bytes, str]]) -> None:
    book = DemandBook("shop")
    for name, text, phase in requests:
        book.put(key(name), f"uid-{name}", text, phase)
    read = RollupReader().read(book.rollup(AT), "shop", 100)
    assert read.timestamp_unix_nanos == AT
    assert read.needs == tuple(replace(n, arrival_unix_nanos=AT) for n in book.needs())


@given(st.lists(puts, max_size=12))
@settings(deadline=None)
def test_what_is_seen_again_unchanged_changes_neither_rows_nor_version(
    requests: Sequence[tuple[str, bytes, str]],
) -> None:
    book = DemandBook("shop")
    last = {name: text for name, text, _ in requests}
    for name, text in last.items():
        pending(book, name, text)
    version, rows = book.version, book.rows()
    for name, text in last.items():
        book.put(key(name), f"uid-{name}", bytes(bytearray(text)), "Acknowledged")
    assert book.version == version
    assert [a is b for a, b in zip(book.rows(), rows, strict=True)] == [True] * len(rows)


def test_only_the_row_that_changed_is_written_again() -> None:
    book = DemandBook("shop")
    for priority in range(5):
        pending(book, f"r{priority}", spec(priority=priority))
    before = book.rows()
    pending(book, "another", spec(priority=3))
    after = book.rows()
    assert [a is b for a, b in zip(after, before, strict=True)] == [True, True, True, False, True]


def test_every_change_of_demand_raises_the_version() -> None:
    book = DemandBook("shop")
    seen = [book.version]
    pending(book, "a", spec())
    seen.append(book.version)
    pending(book, "a", spec(priority=7))
    seen.append(book.version)
    book.remove(key("a"))
    seen.append(book.version)
    assert seen == sorted(set(seen))
    book.remove(key("a"))
    book.put(key("bad"), "u", spec(requirements=[term("Gt")]), "Pending")
    assert book.version == seen[-1]


def test_the_largest_unit_shrinks_when_the_request_that_had_it_goes() -> None:
    book = DemandBook("shop")
    for cores in (1, 8, 2, 8, 4):
        pending(book, f"r{cores}", spec(resources={"cpu": cores}))
    assert book.needs()[0].min_unit["cpu"] == 8000
    book.remove(key("r8"))
    assert book.needs()[0].min_unit["cpu"] == 4000
    assert book.needs()[0].aggregate["cpu"] == 7000


def test_a_sum_that_overflows_does_not_cost_the_cluster_its_roll_up() -> None:
    """Without the bound the shard refuses the whole roll-up, so every other Need with it."""
    book = DemandBook("shop")
    for name in "ab":
        pending(book, name, spec(resources={"memory": str(LARGEST_OF_NEED)}))
    pending(book, "c", spec(priority=5))
    read = RollupReader().read(book.rollup(AT), "shop", 10)
    assert [need.aggregate for need in read.needs] == [
        Resources.of({"memory": LARGEST_OF_NEED}),
        Resources.of({"cpu": 1000}),
    ]
    book.remove(key("b"))
    assert book.needs()[0].aggregate == Resources.of({"memory": LARGEST_OF_NEED})


def test_a_value_that_looks_like_two_cannot_take_over_the_need_of_others() -> None:
    """Both would have the fingerprint of In a, b: the first one would speak for both."""
    book = DemandBook("shop")
    pending(book, "attack", spec(requirements=[term("In", ["a,b"])]))
    pending(book, "honest", spec(requirements=[term("In", ["a", "b"])]))
    assert book.needs() == (
        Need(
            "shop",
            demand(requirements=[term("In", ["a", "b"])]).profile,
            Resources.of({"cpu": 1000}),
            Resources.of({"cpu": 1000}),
        ),
    )
    assert list(book.skipped) == [key("attack")]


def test_gangs_of_one_name_in_two_namespaces_are_one_need() -> None:
    """The gang's name is fixed by the wire contract; see ADR-0009."""
    book = DemandBook("shop")
    text = spec(coLocation=together({"app": "db"}))
    book.put(key("db-0", "team-a"), "u1", text, "Pending")
    book.put(key("db-0", "team-b"), "u2", text, "Pending")
    (need,) = book.needs()
    assert (need.group, need.aggregate["cpu"]) == (f"{RACK}\0app=db,;", 2000)


def test_a_replica_that_never_reports_forgets_what_came_and_went() -> None:
    book = DemandBook("shop", Translator())
    for job in range(50):
        pending(book, "pod", spec(coLocation=together({"job": str(job)})))
    assert len(book._texts) == 1
    assert len(book._untold) == 1


@pytest.mark.parametrize("told", [True, False], ids=["after a roll-up", "before any roll-up"])
def test_a_text_both_withdrawn_and_given_is_still_counted(told: bool) -> None:
    book = DemandBook("shop")
    pending(book, "a", spec())
    if told:
        book.rows()
    book.put(key("a"), "another uid", spec(), "Pending")
    assert [need.aggregate["cpu"] for need in book.needs()] == [1000]
