"""Between a write and the watch that shows it, its answer is what is known of an object."""

from bigfleet.kube.objects import Meta, UpcomingNode
from bigfleet.operator.writes import LatestSeen


def version(number: int, uid: str = "a") -> UpcomingNode:
    return UpcomingNode(metadata=Meta(name="n", uid=uid, resource_version=str(number)))


def test_an_answer_is_newer_than_the_cache() -> None:
    seen = LatestSeen[UpcomingNode]()
    seen.on_cached("n", version(9))
    seen.on_answer("n", version(10))
    assert seen.of("n") == version(10)


def test_an_earlier_change_that_the_watch_shows_late_does_not_hide_the_answer() -> None:
    seen = LatestSeen[UpcomingNode]()
    seen.on_answer("n", version(10))
    seen.on_cached("n", version(9))
    assert seen.of("n") == version(10)


def test_a_later_change_hides_the_answer() -> None:
    seen = LatestSeen[UpcomingNode]()
    seen.on_answer("n", version(10))
    seen.on_cached("n", version(11))
    assert seen.of("n") == version(11)


def test_an_answer_that_comes_after_a_later_change_is_not_taken() -> None:
    seen = LatestSeen[UpcomingNode]()
    seen.on_cached("n", version(11))
    seen.on_answer("n", version(10))
    assert seen.of("n") == version(11)


def test_what_we_deleted_is_gone_although_the_cache_still_shows_it() -> None:
    seen = LatestSeen[UpcomingNode]()
    seen.on_cached("n", version(9))
    seen.on_gone("n")
    assert seen.of("n") is None
    seen.on_cached("n", version(10))
    assert seen.of("n") is None
    assert seen.names() == []


def test_another_object_of_a_deleted_ones_name_is_seen() -> None:
    seen = LatestSeen[UpcomingNode]()
    seen.on_cached("n", version(9))
    seen.on_gone("n")
    seen.on_cached("n", version(12, uid="b"))
    assert seen.of("n") == version(12, uid="b")


def test_the_end_of_the_old_object_does_not_hide_the_new_one_we_made() -> None:
    seen = LatestSeen[UpcomingNode]()
    seen.on_cached("n", version(9))
    seen.on_gone("n")
    seen.on_answer("n", version(12, uid="b"))
    assert seen.of("n") == version(12, uid="b")
    seen.on_cached("n", None)
    assert seen.of("n") == version(12, uid="b")


def test_a_user_s_deletion_ends_what_an_answer_said() -> None:
    seen = LatestSeen[UpcomingNode]()
    seen.on_cached("n", version(9))
    seen.on_answer("n", version(10))
    seen.on_cached("n", None)
    assert seen.of("n") is None
