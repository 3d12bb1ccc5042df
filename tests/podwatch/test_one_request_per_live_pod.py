"""A live pod has exactly one request for its whole life; every other pod has none."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.edge.clock import SECOND
from bigfleet.kube.objects import ObjectKey
from bigfleet.podwatch.book import SHOWS_WITHIN_SECONDS, Book
from bigfleet.podwatch.pod_reconciler import (
    Create,
    Delete,
    Patch,
    PodOutcome,
    WantedRequest,
    Withdraw,
    decide,
    merge_patch_of,
    request_of_pod,
)
from bigfleet.podwatch.records import DemandSource, OwnRequest, WatchedPod
from tests.podwatch.pods import Json, own, watched

UID = "uid-web-1"
AT = 1_700_000_000 * SECOND


def merged(target: Any, patch: Any) -> Any:
    """RFC 7396, word for word."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def looked_at(pod: WatchedPod | None, *have: OwnRequest, expected: bool = False) -> Any:
    spec = pod.spec({}) if pod is not None and not pod.terminal else None
    wanted = WantedRequest(spec) if spec is not None else None
    return decide(pod, wanted, have, expected=expected)


def test_a_new_pod_gets_a_request_that_says_whose_it_is() -> None:
    decision = looked_at(watched())
    (create,) = decision.instructions
    assert decision.outcome is PodOutcome.CREATED
    body = create.body()
    assert body["metadata"]["generateName"] == "cr-pod-web-1-"
    assert body["metadata"]["name"].startswith("cr-pod-web-1-")
    assert body["metadata"]["namespace"] == "shop"
    assert body["metadata"]["labels"] == {"bigfleet.lucy.sh/owned-by-pod": UID}
    assert body["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "web-1",
            "uid": UID,
            "controller": True,
            "blockOwnerDeletion": False,
        }
    ]
    assert "name" not in create.body(named=False)["metadata"]


def test_two_replicas_that_race_ask_for_the_same_name() -> None:
    first, second = looked_at(watched()), looked_at(watched())
    assert first.instructions[0].key == second.instructions[0].key
    other = looked_at(watched(uid="another"))
    assert other.instructions[0].key != first.instructions[0].key


def test_a_name_fits_for_every_name_of_a_pod() -> None:
    create = request_of_pod(watched("w" * 253), b"{}")
    assert len(create.key.name) <= 253


def test_a_scheduled_pod_keeps_its_request() -> None:
    running = watched(phase="Running", nodeName="n-1")
    spec = running.spec({}) or b""
    decision = looked_at(running, own("cr-1", spec=spec))
    assert (decision.outcome, decision.instructions) == (PodOutcome.EXISTS, ())


def test_a_request_that_was_just_made_is_not_made_again() -> None:
    decision = looked_at(watched(), expected=True)
    assert (decision.outcome, decision.instructions) == (PodOutcome.EXISTS, ())


def test_a_pod_that_ended_loses_its_requests_and_never_gets_one() -> None:
    ended = watched(phase="Succeeded")
    request = own("cr-1")
    assert looked_at(ended).instructions == ()
    decision = looked_at(ended, request)
    assert (decision.outcome, decision.instructions) == (PodOutcome.TERMINAL, (Delete(request),))


def test_a_request_whose_pod_is_gone_is_withdrawn() -> None:
    request = own("cr-1")
    decision = looked_at(None, request)
    assert (decision.outcome, decision.instructions) == (PodOutcome.GONE, (Withdraw(request),))


def test_of_two_requests_the_older_stays() -> None:
    spec = watched().spec({}) or b""
    old = own("cr-z", spec=spec, created="2026-01-01T00:00:00Z")
    young = own("cr-a", spec=spec, created="2026-01-01T00:00:01Z")
    assert looked_at(watched(), young, old).instructions == (Delete(young),)


def test_a_request_on_its_way_out_is_neither_counted_nor_replaced_before_it_is_gone() -> None:
    leaving = own("cr-1", deleting=True)
    assert looked_at(watched(), leaving).instructions == ()
    assert looked_at(None, leaving).instructions == ()


def test_a_pod_that_is_resized_changes_its_request_in_place() -> None:
    before = watched(cpu="500m").spec({}) or b""
    request = own("cr-1", spec=before)
    (patch,) = looked_at(watched(cpu="2"), request).instructions
    assert patch == Patch(request, {"spec": {"resources": {"cpu": "2"}}})


def test_a_penalty_that_goes_is_removed_from_the_request() -> None:
    annotation = {"bigfleet.lucy.sh/interruption-penalty": "5"}
    before = watched(annotations=annotation).spec({}) or b""
    (patch,) = looked_at(watched(), own("cr-1", spec=before)).instructions
    assert patch.patch == {"spec": {"interruptionPenalty": None}}


leaves = st.integers(0, 3) | st.text("ab", max_size=2) | st.lists(st.integers(0, 2), max_size=2)
objects = st.recursive(
    leaves, lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=8
)
documents = st.dictionaries(st.sampled_from("abcd"), objects, max_size=4)


@given(documents, documents)
def test_a_patch_makes_what_is_wanted_of_what_is_there(have: Json, want: Json) -> None:
    assert merged(have, merge_patch_of(have, want)) == want


@given(documents)
def test_a_patch_of_equals_is_empty(have: Json) -> None:
    assert merge_patch_of(have, msgspec.json.decode(msgspec.json.encode(have))) == {}


# -- over time -----------------------------------------------------------------------------------


def created(book: Book) -> list[Create]:
    steps = book.decide(UID, {}, AT).instructions
    return [each for each in steps if isinstance(each, Create)]


def test_what_was_made_is_expected_until_it_shows_or_has_had_its_time() -> None:
    book = Book()
    book.pod_changed(None, watched())
    (create,) = created(book)
    book.expect(UID, create.key, AT)
    assert created(book) == []
    later = AT + round(SHOWS_WITHIN_SECONDS * SECOND)
    assert book.decide(UID, {}, later).outcome is PodOutcome.CREATED


def test_a_request_that_showed_and_was_deleted_by_hand_is_made_again() -> None:
    book = Book()
    pod = watched()
    book.pod_changed(None, pod)
    (create,) = created(book)
    book.expect(UID, create.key, AT)
    shown = own(create.key.name, spec=pod.spec({}) or b"")
    assert book.request_changed(None, shown) == [UID]
    assert created(book) == []
    book.request_changed(shown, None)
    assert [each.key for each in created(book)] == [create.key]


def test_what_shows_before_the_answer_to_its_creation_is_not_waited_for() -> None:
    book = Book()
    shown = own("cr-1")
    book.request_changed(None, shown)
    book.expect(UID, shown.key, AT)
    assert book.expected(UID, AT) == frozenset()


def test_a_pod_made_again_under_its_name_is_another_pod() -> None:
    book = Book()
    first, second = watched(uid="one"), watched(uid="two")
    book.pod_changed(None, first)
    assert book.pod_changed(first, second) == ["one", "two"]
    assert book.decide("one", {}, AT).outcome is PodOutcome.GONE
    assert book.decide("two", {}, AT).outcome is PodOutcome.CREATED


def test_a_foreign_change_wakes_no_worker() -> None:
    book = Book()
    starting, running = watched(nodeName="n-1"), watched(phase="Running", nodeName="n-1")
    book.pod_changed(None, starting)
    assert book.pod_changed(starting, running) == []


def test_everything_that_may_need_a_look_is_named_once() -> None:
    book = Book()
    book.pod_changed(None, watched())
    book.request_changed(None, own("cr-1"))
    book.request_changed(None, own("cr-2", owner="uid-gone"))
    book.request_changed(None, own("cr-3", owner="uid-spare", source=DemandSource.BUFFER))
    assert sorted(book.pods_to_look_at()) == ["uid-gone", UID]
    assert list(book.owners(DemandSource.BUFFER)) == ["uid-spare"]


def test_notes_are_told_once_and_not_again_by_the_next_process() -> None:
    bad = watched(annotations={"bigfleet.lucy.sh/interruption-penalty": "x"})
    first, second = Book(), Book()
    first.pod_changed(None, bad)
    assert first.notes_for(UID, PodOutcome.CREATED) == bad.notes
    assert first.notes_for(UID, PodOutcome.EXISTS) == ()
    second.pod_changed(None, bad)
    assert second.notes_for(UID, PodOutcome.EXISTS) == ()


def test_a_note_that_is_new_to_a_known_pod_is_told() -> None:
    book = Book()
    book.pod_changed(None, watched())
    assert book.notes_for(UID, PodOutcome.EXISTS) == ()
    bad = watched(annotations={"bigfleet.lucy.sh/interruption-penalty": "x"})
    book.pod_changed(watched(), bad)
    assert book.notes_for(UID, PodOutcome.EXISTS) == bad.notes


def test_garbage_collection_has_the_first_turn() -> None:
    book = Book()
    due = book.collected_by(UID, AT)
    assert due > AT
    assert book.collected_by(UID, AT + SECOND) == due
    book.not_missed(UID)
    assert book.collected_by(UID, AT + SECOND) == due + SECOND


def test_a_request_that_was_patched_rests_before_it_is_patched_again() -> None:
    book = Book()
    assert book.may_be_patched_at("cr-1", AT) == AT
    assert book.may_be_patched_at("cr-2", AT) == AT
    due = book.may_be_patched_at("cr-1", AT + 1)
    assert due > AT + 1
    assert book.may_be_patched_at("cr-1", due - 1) == due
    assert book.may_be_patched_at("cr-1", due) == due
    assert book.may_be_patched_at("cr-1", due + 1) > due + 1


def test_names_of_requests_are_kept_apart_by_their_owner() -> None:
    book = Book()
    book.expect("a", ObjectKey("shop", "x"), AT)
    assert book.expected("b", AT) == frozenset()
    assert book.expected("a", AT) == {ObjectKey("shop", "x")}
