"""What lets a shard give back the memory of a cluster that has gone."""

import os
import sys

import pytest

from bigfleet.edge.allocator import restart_on_c_allocator
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
