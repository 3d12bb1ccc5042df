"""What lets a shard give back the memory of a cluster that has gone."""

import os
import sys

import pytest

from bigfleet.edge.allocator import restart_on_c_allocator
from bigfleet.edge.heap import FreedMemory
from bigfleet.model.syntax import cached_by_text, forget_texts

#: The arguments of `os.execve`.
Restart = tuple[str, list[str], dict[str, str]]


def test_a_text_is_read_once_until_texts_are_forgotten() -> None:
    read: list[str] = []

    @cached_by_text(2)
    def length_of(text: str) -> int:
        read.append(text)
        return len(text)

    assert (length_of("four"), length_of("four"), read) == (4, 4, ["four"])
    forget_texts()
    assert (length_of("four"), read) == (4, ["four", "four"])


@pytest.fixture
def restarts(monkeypatch: pytest.MonkeyPatch) -> list[Restart]:
    for name in ("PYTHONMALLOC", "MALLOC_ARENA_MAX"):
        monkeypatch.delenv(name, raising=False)
    seen: list[Restart] = []
    monkeypatch.setattr(os, "execve", lambda *given: seen.append(given))
    return seen


def test_a_process_starts_once_more_as_it_was_started(restarts: list[Restart]) -> None:
    restart_on_c_allocator()
    ((program, words, environment),) = restarts
    assert (program, words) == (sys.executable, sys.orig_argv)
    assert environment == {**os.environ, "PYTHONMALLOC": "malloc", "MALLOC_ARENA_MAX": "1"}


def test_settings_of_the_user_stay(
    restarts: list[Restart], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONMALLOC", "debug")
    restart_on_c_allocator()
    ((_, _, environment),) = restarts
    assert environment["PYTHONMALLOC"] == "debug"
    monkeypatch.setenv("MALLOC_ARENA_MAX", "4")
    restart_on_c_allocator()
    assert len(restarts) == 1


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


def looks_until_a_return(memory: FreedMemory, free: int, resident: int) -> int:
    looks = 1
    while not memory.is_worth_returning(free, resident):
        looks += 1
    return looks


def test_what_a_process_works_with_is_given_back_more_and_more_rarely() -> None:
    """It is free whenever one looks, and taken again at once."""
    memory, waited = FreedMemory(), []
    for _ in range(9):
        memory.returned(40 * MB, 200 * MB)
        waited.append(looks_until_a_return(memory, 40 * MB, 230 * MB))
    assert waited == [1, 2, 4, 8, 16, 32, 64, 121, 121]


def test_memory_that_stayed_away_is_given_back_at_the_next_look_again() -> None:
    memory = FreedMemory()
    for _ in range(4):
        memory.returned(40 * MB, 200 * MB)
        looks_until_a_return(memory, 40 * MB, 230 * MB)
    memory.returned(40 * MB, 200 * MB)
    assert not any(memory.is_worth_returning(40 * MB, 205 * MB) for _ in range(200))
    assert memory.is_worth_returning(60 * MB, 225 * MB)
    memory.returned(40 * MB, 200 * MB)
    assert memory.is_worth_returning(60 * MB, 225 * MB)
