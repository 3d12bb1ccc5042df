"""Booking plus consuming pods is the pods' demand at every instant: between any two writes."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.edge.clock import SECOND
from bigfleet.kube.objects import ObjectKey
from bigfleet.kube.provisioning_requests import CHECK_CAPACITY
from bigfleet.podwatch.book import Book
from bigfleet.podwatch.bookings import Booking, ConsumingPod
from bigfleet.podwatch.pod_reconciler import Create, Delete, Instruction, PodOutcome, TakeOver
from bigfleet.podwatch.provisioning_requests import (
    instructions_for,
    is_whole,
    left_to_book,
    valid_seconds,
    why_refused,
)
from bigfleet.podwatch.records import Bodies, BookedShare, DemandSource, OwnRequest, WatchedPod
from tests.podwatch.pods import watched
from tests.podwatch.provisioning import CLASS, CONSUME, NAME, OWNER, UID, plan, request

AT = 1_700_000_000 * SECOND
KEY = ObjectKey("shop", NAME)
COUNT = 3


def consuming(name: str, **words: Any) -> WatchedPod:
    return watched(name, annotations={CONSUME: NAME}, **words)


@dataclass
class World:
    """A server, and one controller with a late view of it; every write is an instant."""

    is_open: bool = False
    #: Instants have been checked.
    checked: int = 0
    requests: dict[ObjectKey, OwnRequest] = field(default_factory=dict)
    pods: dict[str, WatchedPod] = field(default_factory=dict)
    book: Book = field(default_factory=Book)
    untold: list[tuple[OwnRequest | None, OwnRequest | None]] = field(default_factory=list)
    at: int = AT
    made: int = 0

    def put(self, key: ObjectKey, request: OwnRequest | None) -> None:
        before = self.requests.pop(key, None)
        if request is not None:
            self.requests[key] = request
        self.untold.append((before, request))
        self.check()

    def shares(self) -> list[OwnRequest]:
        return [r for r in self.requests.values() if r.source is DemandSource.PROVISIONING_REQUEST]

    def of_pods(self) -> list[OwnRequest]:
        return [r for r in self.requests.values() if r.source is DemandSource.POD]

    def check(self) -> None:
        """Never more than was booked, unless more pods are there than that; one for each pod."""
        self.checked += 1
        owners = [each.owner for each in self.of_pods()]
        assert len(owners) == len(set(owners))
        assert len(self.requests) <= max(COUNT, len(owners))

    # -- the controller --------------------------------------------------------------------------

    def hear(self, number: int = 1) -> None:
        for _ in range(min(number, len(self.untold))):
            self.book.request_changed(*self.untold.pop(0))
            self.show()

    def show(self) -> None:
        have = self.book.booked(UID, self.at)
        left = left_to_book(PLAN, self.book.consuming(KEY, self.at))
        whole = self.is_open and is_whole(PLAN, left, have, acknowledged=False)
        booking = Booking(UID, CHECK_CAPACITY, self.is_open, whole)
        self.book.bookings.booking_changed(KEY, booking)

    def look_at_booking(self, writes: int) -> None:
        have = self.book.booked(UID, self.at)
        users = self.book.consuming(KEY, self.at)
        wanted = PLAN if self.is_open else None
        left = left_to_book(PLAN, users) if self.is_open else []
        for step in instructions_for("shop", OWNER, wanted, left, have, users)[:writes]:
            self.carry_out(step)
        self.show()

    def look_at_pod(self, uid: str) -> int:
        decision = self.book.decide(uid, {}, self.at)
        for step in decision.instructions:
            self.carry_out(step)
        return len(decision.instructions)

    def carry_out(self, step: Instruction) -> None:
        match step:
            case Create(key=key, owner=owner):
                if key in self.book.expected(owner.uid, self.at):
                    return
                self.book.expect(owner.uid, key, self.at)
                if key not in self.requests:
                    self.put(key, self.made_of(step))
            case TakeOver(request=share, create=create):
                self.book.expect(create.owner.uid, share.key, self.at)
                self.book.bookings.taken(share, create.owner.uid, self.at)
                assert self.requests.get(share.key) == share, "the server would refuse it"
                owner = create.owner
                body = Bodies().of(create.spec)
                taken = replace(
                    share, owner=owner.uid, owner_name=owner.name, source=DemandSource.POD
                )
                self.put(share.key, replace(taken, body=body))
            case Delete(request=request) if request.key in self.requests:
                self.book.bookings.withdrawn(request, self.at)
                self.put(request.key, None)

    def made_of(self, create: Create) -> OwnRequest:
        self.made += 1
        of_pod = create.owner.kind == "Pod"
        return OwnRequest(
            create.key,
            f"cr-{self.made}",
            create.owner.uid,
            create.owner.name,
            DemandSource.POD if of_pod else DemandSource.PROVISIONING_REQUEST,
            Bodies().of(create.spec),
            True,
            f"{self.made:05}",
            False,
            share=create.share,
        )

    # -- its surroundings ------------------------------------------------------------------------

    def start_pod(self, name: str, cpu: str = "500m") -> None:
        if name in self.pods:
            return
        self.made += 1
        self.pods[name] = consuming(name, uid=f"{name}-{self.made}", cpu=cpu)
        self.book.pod_changed(None, self.pods[name])
        self.show()

    def end_pod(self, name: str) -> None:
        if (pod := self.pods.pop(name, None)) is not None:
            self.book.pod_changed(pod, None)
            self.show()

    def collect(self) -> None:
        """Garbage collection: requests go with their pods, and a deleted pod is heard of first."""
        there = {pod.uid for pod in self.pods.values()}
        for each in self.of_pods():
            if each.owner not in there:
                self.put(each.key, None)

    def settle(self) -> None:
        for _ in range(30):
            self.at += 100 * SECOND
            self.collect()
            self.hear(1000)
            before = self.checked
            self.look_at_booking(100)
            self.hear(1000)
            for pod in list(self.pods.values()):
                self.look_at_pod(pod.uid)
            self.hear(1000)
            if self.checked == before:
                return
        raise AssertionError("there is always something left to do")


PLAN = plan(2, 1)

NAMES = ["a", "b", "c", "d"]
steps = st.one_of(
    st.tuples(st.sampled_from(["start", "start-large", "end", "look"]), st.sampled_from(NAMES)),
    st.tuples(st.just("book"), st.sampled_from(["1", "2", "9"])),
    st.tuples(st.sampled_from(["hear", "hear-all", "collect", "open", "close"]), st.just("")),
)


@settings(max_examples=300)
@given(st.lists(steps, min_size=10, max_size=60))
def test_booking_and_pods_together_are_the_pods_demand_at_every_instant(
    story: list[tuple[str, str]],
) -> None:
    world = World()
    world.is_open = True
    world.show()
    for step, word in story:
        match step:
            case "start":
                world.start_pod(word)
            case "start-large":
                world.start_pod(word, cpu="2")
            case "end":
                world.end_pod(word)
            case "look" if word in world.pods:
                world.look_at_pod(world.pods[word].uid)
            case "book":
                world.look_at_booking(int(word))
            case "hear":
                world.hear()
            case "hear-all":
                world.hear(1000)
            case "collect":
                world.collect()
            case "close":
                world.is_open = False
                world.show()
    world.settle()
    demand = max(COUNT, len(world.pods)) if world.is_open else len(world.pods)
    assert len(world.requests) == demand
    assert {each.owner for each in world.of_pods()} == {pod.uid for pod in world.pods.values()}


def test_a_pod_takes_the_share_that_asks_for_the_same_in_one_write() -> None:
    world = World(is_open=True)
    world.show()
    world.look_at_booking(9)
    world.hear(9)
    assert len(world.shares()) == 3
    world.start_pod("large", cpu="2")
    world.look_at_pod(world.pods["large"].uid)
    assert [each.share for each in world.of_pods()] == [BookedShare(1, 0)]
    assert len(world.shares()) == 2
    world.look_at_booking(9)
    assert len(world.shares()) == 2


def test_a_pod_beyond_what_was_booked_asks_for_itself() -> None:
    world = World(is_open=True)
    world.settle()
    for name in NAMES:
        world.start_pod(name)
        world.look_at_pod(world.pods[name].uid)
        world.hear(9)
    assert (len(world.shares()), len(world.of_pods())) == (0, 4)


def test_a_pod_that_ends_gives_its_share_back_to_the_booking_while_that_lasts() -> None:
    world = World(is_open=True)
    world.settle()
    world.start_pod("a")
    world.settle()
    assert len(world.shares()) == 2
    world.end_pod("a")
    world.look_at_booking(9)
    assert len(world.shares()) == 2
    world.settle()
    assert len(world.shares()) == 3


def test_pods_keep_their_requests_when_the_booking_ends() -> None:
    world = World(is_open=True)
    world.settle()
    world.start_pod("a")
    world.settle()
    world.is_open = False
    world.settle()
    assert (len(world.shares()), len(world.of_pods())) == (0, 1)


def test_a_pod_waits_while_what_is_left_of_a_booking_is_withdrawn() -> None:
    world = World(is_open=True)
    world.settle()
    world.is_open = False
    world.show()
    world.start_pod("a")
    uid = world.pods["a"].uid
    assert world.book.decide(uid, {}, world.at).outcome is PodOutcome.NOT_YET_KNOWN
    world.look_at_booking(9)
    world.hear(9)
    assert world.book.decide(uid, {}, world.at).outcome is PodOutcome.CREATED


def test_a_pod_that_names_another_class_does_not_use_the_booking_and_is_told_so() -> None:
    world = World(is_open=True)
    world.settle()
    wrong = watched("a", annotations={CONSUME: NAME, CLASS: "queued.example.com"})
    world.book.pod_changed(None, wrong)
    decision = world.book.decide(wrong.uid, {}, world.at)
    assert isinstance(decision.instructions[0], Create)
    assert [note.reason for note in decision.notes] == ["ProvisioningClassContradicts"]
    assert world.book.consuming(KEY, world.at) == []


@pytest.mark.parametrize("prefix", ["autoscaling.x-k8s.io", "cluster-autoscaler.kubernetes.io"])
def test_both_spellings_of_the_annotation_are_read(prefix: str) -> None:
    words = {f"{prefix}/consume-provisioning-request": NAME}
    words[f"{prefix}/provisioning-class-name"] = CHECK_CAPACITY
    pod = watched("a", annotations=words)
    assert (pod.consumes, pod.consumes_class) == (NAME, CHECK_CAPACITY)


def test_the_patch_of_a_take_over_changes_owner_label_and_spec_and_names_the_version() -> None:
    world = World(is_open=True)
    world.settle()
    world.start_pod("a", cpu="1")
    (step,) = world.book.decide(world.pods["a"].uid, {}, world.at).instructions
    assert isinstance(step, TakeOver)
    patch = step.patch()
    meta = patch["metadata"]
    assert isinstance(meta, dict)
    assert meta["labels"] == {
        "bigfleet.lucy.sh/owned-by-provisioning-request": None,
        "bigfleet.lucy.sh/owned-by-pod": world.pods["a"].uid,
    }
    assert [each["kind"] for each in meta["ownerReferences"]] == ["Pod"]
    assert "resourceVersion" in meta
    assert patch["spec"] == {"resources": {"cpu": "1"}}


def test_nothing_is_kept_of_pods_and_requests_that_are_gone() -> None:
    world = World(is_open=True)
    world.settle()
    world.start_pod("a")
    world.settle()
    world.end_pod("a")
    world.settle()
    world.book.bookings.booking_changed(KEY, None)
    sizes = world.book.bookings.sizes()
    assert sizes == {"bookings": 0, "bookingsUsed": 0, "podsUsingBookings": 0, "sharesMoving": 0}


@pytest.mark.parametrize(
    ("counts", "words", "reason"),
    [
        ((), {}, "NoPodSets"),
        ((3, 0), {}, "InvalidCount"),
        ((-1,), {}, "InvalidCount"),
        ((2_000_000_000,), {}, "TooManyPods"),
        ((9_000, 1_001), {}, "TooManyPods"),
        ((1,), {"ValidUntilSeconds": "soon"}, "InvalidParameter"),
        ((1,), {"ValidUntilSeconds": "0"}, "InvalidParameter"),
        ((1,), {"ValidUntilSeconds": "-5"}, "InvalidParameter"),
        ((1,), {"ValidUntilSeconds": "٣"}, "InvalidParameter"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_field_and_fix(
    counts: tuple[int, ...], words: dict[str, str], reason: str
) -> None:
    refusal = why_refused(request(*counts, **words).spec)
    assert refusal is not None
    assert (refusal.reason, refusal.is_final) == (reason, True)


def test_a_huge_time_is_taken_as_the_most_there_is() -> None:
    assert valid_seconds({"ValidUntilSeconds": "9" * 200}) == 7 * 24 * 3600
    assert valid_seconds({}) == 600


def test_a_pod_without_a_share_is_of_the_pod_set_it_is_like() -> None:
    small, large = PLAN.pod_sets
    assert left_to_book(PLAN, [ConsumingPod(large.bare)]) == [2, 0]
    assert left_to_book(PLAN, [ConsumingPod(small.bare)] * 5) == [0, 0]
    assert left_to_book(PLAN, [ConsumingPod(b"", BookedShare(1, 4))]) == [2, 0]
