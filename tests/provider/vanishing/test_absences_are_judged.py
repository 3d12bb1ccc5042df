"""When an absent machine counts as gone, and when the describe is not believed."""

from bigfleet.edge.clock import SECOND
from bigfleet.provider.reconciling.comparison import Absences, Rule, judged

RULE = Rule(threshold=3, span_seconds=60)


def describes(
    *absent: set[str], present: int, every: int = 120
) -> tuple[Absences, list[frozenset[str]]]:
    """Judges one describe after the other; what each found gone."""
    absences, gone = Absences(), []
    for number, missing in enumerate(absent):
        now = number * every * SECOND
        judgement = judged(absences, frozenset(missing), present, now, RULE)
        absences = judgement.absences
        gone.append(judgement.gone)
    return absences, gone


def test_three_describes_in_a_row_without_it_and_it_is_gone() -> None:
    _, gone = describes({"a"}, {"a"}, {"a"}, present=10)
    assert gone == [frozenset(), frozenset(), frozenset({"a"})]


def test_a_machine_that_shows_again_starts_anew() -> None:
    _, gone = describes({"a"}, {"a"}, set(), {"a"}, {"a"}, present=10)
    assert not any(gone)


def test_many_describes_within_a_minute_prove_nothing() -> None:
    _, gone = describes(*[{"a"}] * 12, present=10, every=5)
    assert not any(gone)
    _, gone = describes(*[{"a"}] * 13, present=10, every=5)
    assert gone[-1] == {"a"}


def test_a_large_loss_is_doubted_until_it_was_seen_five_times() -> None:
    lost = {f"m-{n}" for n in range(6)}
    absences, gone = describes(*[lost] * 4, present=50)
    assert (any(gone), absences.quarantined) == (False, True)
    absences, gone = describes(*[lost] * 5, present=50)
    assert (set(gone[-1]), absences.quarantined) == (lost, False)


def test_another_large_loss_is_doubted_from_the_start() -> None:
    first = {f"m-{n}" for n in range(6)}
    other = {f"m-{n}" for n in range(7)}
    _, gone = describes(first, first, other, other, other, other, present=50)
    assert not any(gone)


def test_five_machines_or_a_tenth_are_no_large_loss() -> None:
    five = {f"m-{n}" for n in range(5)}
    tenth = {f"m-{n}" for n in range(10)}
    assert describes(*[five] * 3, present=1)[1][-1] == five
    assert describes(*[tenth] * 3, present=90)[1][-1] == tenth


def test_an_empty_describe_is_always_doubted() -> None:
    absences, gone = describes(*[{"a"}] * 3, present=0)
    assert (any(gone), absences.quarantined) == (False, True)


def test_an_operator_may_believe_it() -> None:
    lost = frozenset(f"m-{n}" for n in range(6))
    absences, _ = describes(set(lost), set(lost), present=10)
    judgement = judged(absences, lost, 10, 600 * SECOND, RULE, accepted=True)
    assert judgement.gone == lost
