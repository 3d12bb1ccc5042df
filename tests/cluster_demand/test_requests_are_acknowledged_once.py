"""Which requests are acknowledged by the shard's word that it took a roll-up."""

from bigfleet.kube.objects import ObjectKey
from bigfleet.operator.acknowledgements import GIVEN_UP_AFTER_SECONDS, Acknowledgements
from bigfleet.operator.rollup import DemandBook
from tests.cluster_demand.requests import key, spec, term

SECOND = 1_000_000_000


class Rig:
    def __init__(self) -> None:
        self.book = DemandBook("shop")
        self.acknowledgements = Acknowledgements(self.book)
        self.now = 0

    def put(self, name: str, text: bytes = spec(), uid: str = "", phase: str = "Pending") -> None:
        self.book.put(key(name), uid or f"uid-{name}", text, phase)

    def sent(self, after_seconds: float = 0) -> None:
        self.now += round(after_seconds * SECOND)
        self.acknowledgements.on_sent(self.now)

    def acked(self, after_seconds: float = 0) -> list[str]:
        self.now += round(after_seconds * SECOND)
        return [found.name for found in self.acknowledgements.on_acked(self.now)]


def test_a_request_is_acknowledged_once_its_roll_up_was_taken() -> None:
    rig = Rig()
    rig.put("a")
    rig.sent()
    rig.put("late")
    assert rig.acked() == ["a"]
    rig.sent()
    assert rig.acked() == ["late"]
    rig.sent()
    assert rig.acked() == []


def test_the_word_of_a_shard_is_for_the_oldest_roll_up_without_one() -> None:
    rig = Rig()
    rig.put("a")
    rig.sent()
    rig.put("b")
    rig.sent()
    assert rig.acked() == ["a"]
    assert rig.acked() == ["b"]
    assert rig.acked() == [], "nothing was sent that it could be for"


def test_a_request_that_was_acknowledged_before_is_left_alone() -> None:
    rig = Rig()
    rig.put("a", phase="Acknowledged")
    rig.put("b")
    rig.put("b", phase="Acknowledged")
    rig.sent()
    assert rig.acked() == []


def test_a_late_echo_of_the_old_phase_does_not_acknowledge_twice() -> None:
    rig = Rig()
    rig.put("a")
    rig.sent()
    assert rig.acked() == ["a"]
    rig.put("a")
    rig.sent()
    assert rig.acked() == []


def test_an_object_of_the_same_name_is_another_request() -> None:
    rig = Rig()
    rig.put("a", uid="first")
    rig.sent()
    rig.put("a", uid="second")
    assert rig.acked() == [], "the roll-up did not have the second one"
    rig.sent()
    assert rig.acked() == ["a"]


def test_what_cannot_be_told_stays_pending_until_it_is_mended() -> None:
    rig = Rig()
    rig.put("a", spec(requirements=[term("Gt")]))
    rig.sent()
    rig.put("a", spec(requirements=[term("In")]))
    assert rig.acked() == []
    rig.sent()
    assert rig.acked() == ["a"]


def test_a_request_that_is_gone_is_not_acknowledged() -> None:
    rig = Rig()
    rig.put("a")
    rig.sent()
    rig.book.remove(key("a"))
    assert rig.acked() == []


def test_a_lost_session_takes_its_roll_ups_with_it() -> None:
    rig = Rig()
    rig.put("a")
    rig.sent()
    rig.acknowledgements.on_disconnected()
    assert rig.acknowledgements.unacked == 1
    rig.put("b")
    rig.sent()
    assert rig.acked() == ["a", "b"]


def test_a_roll_up_a_shard_never_answers_does_not_hold_back_the_later_ones_for_good() -> None:
    rig = Rig()
    rig.put("a")
    rig.sent()
    for _ in range(7):
        rig.sent(after_seconds=10)
    rig.put("b")
    rig.sent()
    assert rig.acknowledgements.unacked == 1, "sixty seconds with a newer one behind it"
    assert rig.acked() == ["a"]
    for _ in range(5):
        rig.sent(after_seconds=GIVEN_UP_AFTER_SECONDS)
    assert rig.acknowledgements.open_rollups == 2, "one may still be answered beside the newest"
    assert rig.acked() == ["b"]


def test_a_word_read_late_by_a_process_that_stood_still_is_for_what_was_sent_before() -> None:
    rig = Rig()
    rig.put("a")
    rig.sent()
    rig.put("b")
    rig.sent(after_seconds=2 * GIVEN_UP_AFTER_SECONDS)
    assert rig.acked() == ["a"], "it lay unread while nothing was sent"
    assert rig.acked() == ["b"]


def test_the_only_roll_up_is_never_given_up() -> None:
    rig = Rig()
    rig.put("a")
    rig.sent()
    assert rig.acked(after_seconds=100 * GIVEN_UP_AFTER_SECONDS) == ["a"]


def test_a_request_whose_mark_could_not_be_written_is_due_again() -> None:
    rig = Rig()
    rig.put("a")
    rig.sent()
    assert rig.acked() == ["a"]
    rig.acknowledgements.wait_again(key("a"))
    rig.acknowledgements.wait_again(key("unknown"))
    rig.sent()
    assert rig.acked() == ["a"]


def test_the_marks_name_the_buckets_the_request_counts_in() -> None:
    rig = Rig()
    rig.put("a", spec(interruptionPenalty="500m", reclamationPenalty="9e9"))
    rig.sent()
    assert rig.acked() == ["a"]
    assert rig.acknowledgements.buckets_of(key("a")) == ("0.5", "pinned")
    assert rig.acknowledgements.buckets_of(ObjectKey("team", "gone")) is None
