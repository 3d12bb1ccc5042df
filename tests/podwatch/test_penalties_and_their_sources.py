"""Penalties: the annotation, else the PriorityClass's default, else none; each on its own."""

import pytest

from bigfleet.model.errors import BadInput
from bigfleet.podwatch.penalties import Penalties, defaults_of
from tests.podwatch.pods import watched

INTERRUPTION = "bigfleet.lucy.sh/interruption-penalty"
RECLAMATION = "bigfleet.lucy.sh/reclamation-penalty"
DEFAULTS = {"critical": Penalties("500", "50")}


def penalties(annotations: dict[str, str], priority_class: str = "critical") -> str:
    found = watched(annotations=annotations, priorityClassName=priority_class)
    return (found.spec(DEFAULTS) or b"").decode()


def test_the_annotation_wins_over_the_class_and_each_stands_on_its_own() -> None:
    spec = penalties({INTERRUPTION: "2.50"})
    assert '"interruptionPenalty":"2.50"' in spec
    assert '"reclamationPenalty":"50"' in spec


def test_without_annotation_and_default_a_penalty_is_absent() -> None:
    spec = penalties({RECLAMATION: "0"}, "other")
    assert "interruptionPenalty" not in spec
    assert '"reclamationPenalty":"0"' in spec
    assert "Penalty" not in penalties({}, "other")


@pytest.mark.parametrize("text", ["", "ten", "$5", "1,000", "5 dollars", "1e1.5", "1e999"])
def test_an_annotation_that_is_not_a_quantity_counts_as_absent_and_is_told(text: str) -> None:
    assert '"interruptionPenalty":"500"' in penalties({INTERRUPTION: text})
    (note,) = watched(annotations={INTERRUPTION: text}).notes
    assert note.reason == "InvalidPenalty"
    assert INTERRUPTION in note.text


def test_a_file_of_defaults_is_read_with_numbers_and_text() -> None:
    text = "critical:\n  interruptionPenalty: 500\nbatch: {reclamationPenalty: 500m}\n"
    assert defaults_of(text, "d.yaml") == {
        "critical": Penalties("500", None),
        "batch": Penalties(None, "500m"),
    }
    assert defaults_of("", "d.yaml") == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "a:\n  interruptionPenalty: ten\n",
            "d.yaml:2: a.interruptionPenalty: 'ten' is not a quantity",
        ),
        ("a:\n  reclamationPenalty: true\n", "d.yaml:2: a.reclamationPenalty"),
        ("a: {}\nb: 3\n", "d.yaml:2: b: here belongs a mapping"),
        ("a:\n  penalty: 3\n", "d.yaml:2: a.penalty: no such key"),
        ("a: [", "d.yaml: is not YAML"),
        ("- a\n", "d.yaml: here belongs a mapping"),
    ],
)
def test_everything_wrong_with_the_file_is_told_with_its_line(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=f"^{said.replace('.', '[.]')}"):
        defaults_of(text, "d.yaml")


def test_all_problems_of_a_file_are_told_at_once() -> None:
    text = "a:\n  interruptionPenalty: x\n  other: 1\nb: 1\n"
    with pytest.raises(BadInput) as refused:
        defaults_of(text, "d.yaml")
    assert len(refused.value.problems) == 3
