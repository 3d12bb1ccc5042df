"""Invented ids cannot fill the memory, and marks of real machines are never dropped for them."""

from bigfleet.provider.ledger.fences import Fences, KeptMark, Mark, MarkKey

HOUR = 3600 * 1_000_000_000


def key(number: int) -> MarkKey:
    return MarkKey("a", f"x-{number}")


def test_the_least_recently_moved_mark_goes_first() -> None:
    fences = Fences(lambda _: False, capacity=2)
    assert fences.advance(key(1), Mark(1, 1), 0) == []
    assert fences.advance(key(2), Mark(1, 1), 0) == []
    assert fences.advance(key(1), Mark(1, 2), 0) == []
    assert fences.advance(key(3), Mark(1, 1), 0) == [key(2)]
    assert fences.mark(key(1), 0) == Mark(1, 2)
    assert fences.mark(key(2), 0) is None


def test_a_mark_of_an_unknown_id_lives_for_a_day() -> None:
    fences = Fences(lambda _: False)
    fences.advance(key(1), Mark(1, 1), 0)
    assert fences.mark(key(1), 24 * HOUR) == Mark(1, 1)
    assert fences.mark(key(1), 24 * HOUR + 1) is None


def test_a_mark_whose_machine_has_appeared_is_promoted_instead_of_dropped() -> None:
    known: set[str] = set()
    fences = Fences(known.__contains__, capacity=1)
    fences.advance(key(1), Mark(1, 1), 0)
    known.add("x-1")
    assert fences.mark(key(1), 48 * HOUR) == Mark(1, 1)
    assert fences.advance(key(2), Mark(1, 1), 48 * HOUR) == []
    assert fences.mark(key(1), 96 * HOUR) == Mark(1, 1)


def test_the_marks_of_a_retired_machine_age_like_any_unknown_ones() -> None:
    known = {"m-0"}
    fences = Fences(known.__contains__)
    held = MarkKey("a", "m-0")
    fences.advance(held, Mark(4, 4), 0)
    known.clear()
    fences.retire("m-0", HOUR)
    assert fences.mark(held, 2 * HOUR) == Mark(4, 4)
    assert fences.mark(held, 26 * HOUR) is None


def test_stored_marks_beyond_the_bound_are_dropped_oldest_first() -> None:
    fences = Fences(lambda _: False, capacity=2)
    stored = [KeptMark(key(n), Mark(n, n), touched_at=10 - n) for n in range(3)]
    assert fences.restore(stored) == [key(2)]


def test_pruning_forgets_one_shard_and_no_other() -> None:
    fences = Fences({"m-0"}.__contains__)
    for shard in ("a", "b"):
        fences.advance(MarkKey(shard, "m-0"), Mark(1, 1), 0)
        fences.advance(MarkKey(shard, "x"), Mark(1, 1), 0)
    fences.forget(fences.keys_of("a"))
    assert {k.shard_id for k, _ in fences.all()} == {"b"}
