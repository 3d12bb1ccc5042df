"""Questions of people who run a fleet, on a recorded night: at most two commands each, and the
answer has what was asked for."""

from pathlib import Path

import pytest

from tests.architecture.walking import agree
from tests.questions.pages_of_answers import Question, answer_to, lines_of, questions
from tests.questions.recorded_night import NIGHT, RecordedShard, live_through

#: What a person must find in the answer, by the number of the question.
FACTS = {
    1: (
        "Preempt",
        "taken by       need/payments/",
        "(priority 100000)",
        "declared cost  interruption $4.00, reclamation $1.00; declared, not billed",
        "statement      1:242/bm-01, in bigfleet reports invoices --statements",
        "next best      machine/bm-03 of cluster shop",
        "cannot be bought now: held by backoff",
    ),
    2: (
        "machine/arm-a-1 is not released: idle for 4 min 35 s; OnDemand is kept for 10 min",
        "hold           BLOCKS",
        "would change it: wait until 2026-03-14T03:06:25Z",
    ),
    4: (
        "2 units less",
        "priority 1001 instead of 500",
        "need/shop/neabbd835a6eb cpu 15",
        "all was tried",
    ),
    5: (
        "ETA     p50 1 min 40 s, p80 2 min 50 s (a probe of an offering that rests,",
        "forecasts of this kind: 100 % by p80 (n=2)",
        "capacity-needed      -      -      -",
        "all: met: 100 % by p50, 100 % by p80, 100 % by p95 (n=2)",
    ),
    6: (
        "IDENTICAL: 0 of 384 cycles changed",
        "first changed: cycle 1:209",
        "now: Delete arm-a-1: no Need claims it; idle for 60 s",
    ),
    7: (
        "What if: zone-loss b",
        "6 machines leave, 5 of them in use (shop 3, payments 2).",
        "Machines change hands by preemption: 2 from shop to payments.",
        "The bill goes from",
        "need/shop/",
    ),
    8: (
        "4 machines cost $1.43/h, 8 machines more at the price 0, in cycle shard-0 1:384",
        "shop             6          4   $0.76",
        "payments         5          4   $0.38",
        "batch            1          0   $0.29",
        "OnDemand          4          0   $1.43",
    ),
    9: (
        "One pool costs $14.32 less (54%): $12.40 instead of $26.72 for a pool per cluster.",
        "What it saves lies between $10.79 and $17.41 (95 %).",
        "Demand without a machine:",
        "26h observed",
        "shop: 3 committed machines (50%)",
        "Every on-demand and spot slot is there for each isolated cluster",
        "No machine moves between isolated clusters",
        "Isolated pools keep no headroom.",
    ),
    10: (
        "1  return  batch",
        "arm-a-1 left batch and came back 8m35s later",
        "- action: action/193.0",
        "- action: action/301.0",
    ),
    11: (
        "p1  Preempt of cluster shop  rpc     ada",
        "until 2026-03-14T05:04:00Z",
        "suppressed: paused by ada: web loses machines to payments",
    ),
    12: (
        "shard-0  optimal   $2.63    $2.03  $0.60  22.8%  batch cpu 28 memory 96Gi",
        "m5.2xlarge: $2.34/h, $1.74/h in the bound",
    ),
}
#: Asked of a living shard and a cluster's API server: test_why_a_pod_waits.py.
LIVE = {3}
QUESTIONS = questions()
RECORDED = [question for question in QUESTIONS if question.number not in LIVE]


def test_the_page_has_every_question() -> None:
    assert [question.number for question in QUESTIONS] == sorted({*FACTS, *LIVE})


@pytest.mark.parametrize("question", RECORDED, ids=lambda question: f"{question.number}")
def test_a_question_is_answered(question: Question, tmp_path: Path) -> None:
    assert 1 <= len(question.commands) <= 2
    answers = [answer_to(command, tmp_path) for command in question.commands]
    for command, answer in zip(question.commands, answers, strict=True):
        assert agree(lines_of(answer), lines_of("\n".join(command.output))), f"{command}\n{answer}"
    told = "\n".join(answers)
    assert [fact for fact in FACTS[question.number] if fact not in told] == []


def test_the_night_is_recorded_as_it_is_told(tmp_path: Path) -> None:
    """A shard decides the same night again: where it should not, record the night anew."""
    from bigfleet.journal.journal_file import JournalFile, JournalLimits

    file = JournalFile(tmp_path, "shard-0", 1, "0.3.0", JournalLimits())
    file.prepare()
    live_through(RecordedShard(file))
    file.close()
    (again,), (kept,) = sorted(tmp_path.iterdir()), sorted(NIGHT.iterdir())
    assert again.read_bytes() == kept.read_bytes(), "python -m tests.questions.recorded_night"
