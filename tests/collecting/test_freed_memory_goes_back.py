"""When the C library is told to give back what was freed."""

from bigfleet.edge.heap import FreedMemory

MB = 2**20


def test_a_little_is_kept_and_much_is_given_back() -> None:
    memory = FreedMemory()
    assert not memory.is_worth_returning(10 * MB, 200 * MB)
    assert memory.is_worth_returning(40 * MB, 200 * MB)


def test_what_has_been_given_back_is_not_given_back_again() -> None:
    """Pages that went stay counted as free."""
    memory = FreedMemory()
    memory.returned(40 * MB, 200 * MB)
    assert not memory.is_worth_returning(50 * MB, 200 * MB)
    assert memory.is_worth_returning(60 * MB, 200 * MB)


def test_memory_that_is_used_again_may_be_given_back_again() -> None:
    memory = FreedMemory()
    memory.returned(40 * MB, 200 * MB)
    assert not memory.is_worth_returning(5 * MB, 210 * MB)
    assert memory.is_worth_returning(30 * MB, 210 * MB)


def test_pages_that_were_used_for_a_moment_are_given_back() -> None:
    """Between two looks: as much is free as before, but it is resident."""
    memory = FreedMemory()
    memory.returned(40 * MB, 200 * MB)
    assert memory.is_worth_returning(40 * MB, 230 * MB)
