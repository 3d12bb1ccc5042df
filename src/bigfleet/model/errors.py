"""The few errors of BigFleet, typed by what the caller can do about them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with the input: where, and what would mend it."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


class BadInput(ValueError):
    """The input is refused whole; `problems` lists what is wrong with it.

    `left_out` counts further problems, where there are too many to list.
    """

    def __init__(self, problems: list[Problem], left_out: int = 0) -> None:
        super().__init__("; ".join(str(p) for p in problems))
        self.problems = problems
        self.left_out = left_out


class StartRefused(Exception):
    """A process must not start; the text says what happened, why, and what to do."""


class DuplicateMachine(ValueError):
    """A machine with this id is already known."""


class NoSuchMachine(KeyError):
    """No machine with this id is known."""


class InvalidMachine(ValueError):
    """The record breaks an invariant; the last good record stays."""
