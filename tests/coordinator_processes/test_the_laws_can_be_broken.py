"""A journal in which two shards interleave is found out; one with hand-overs in between is not."""

import pytest

from tests.coordinator_processes.laws import Mutation, why_interleaved


def did(shard: str, kind: str, at: int, *, ended: int = 0, outcome: str = "succeeded") -> Mutation:
    return Mutation("m-1", kind, shard, at, outcome, ended or at + 1)


CONFIGURED, DRAINED = did("a", "configure", 10), did("a", "drain", 20)
BY_ANOTHER = did("b", "configure", 40)


@pytest.mark.parametrize(
    ("done", "handed"),
    [
        ([CONFIGURED, DRAINED], []),
        ([CONFIGURED, DRAINED, BY_ANOTHER], [30]),
        # Asked for while the machine was in use: the drain comes later, and then the other shard.
        ([CONFIGURED, DRAINED, BY_ANOTHER], [5]),
        ([DRAINED, BY_ANOTHER, did("b", "drain", 50), did("a", "configure", 70)], [30, 60]),
        ([did("a", "configure", 10, outcome="failed"), BY_ANOTHER], [30]),
    ],
)
def test_a_journal_with_hand_overs_in_between_is_lawful(
    done: list[Mutation], handed: list[int]
) -> None:
    assert why_interleaved(done, handed) == ""


@pytest.mark.parametrize(
    ("done", "handed", "why"),
    [
        ([DRAINED, BY_ANOTHER], [], "nothing was handed over"),
        ([DRAINED, BY_ANOTHER], [45], "nothing was handed over"),
        ([CONFIGURED, BY_ANOTHER], [30], "had configured"),
        ([did("a", "drain", 20, ended=41), BY_ANOTHER], [30], "was not done"),
        ([did("a", "drain", 20, outcome=""), BY_ANOTHER], [30], "was not done"),
        (
            [DRAINED, BY_ANOTHER, did("b", "drain", 50), did("a", "configure", 70)],
            [30],
            "nothing was handed over",
        ),
    ],
)
def test_a_journal_of_two_owners_at_once_is_not(
    done: list[Mutation], handed: list[int], why: str
) -> None:
    assert why in why_interleaved(done, handed)
