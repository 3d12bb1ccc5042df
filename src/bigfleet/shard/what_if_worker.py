"""The process that answers what-ifs and counterfactuals of a shard, measures its regret, or runs
its journal with other pools: at a low priority, one after the other.

Questions come on standard input, answers go to standard output, each as frames: eight bytes of
length, then the content. It ends when its input ends, so that it never outlives its shard.
"""

import ctypes
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from bigfleet.compiling import compile_kernels
from bigfleet.costs.isolated import isolated_report
from bigfleet.costs.isolated_reading import NothingToCompare, TooLong, latest_part
from bigfleet.edge.driver import stopwatch
from bigfleet.engine.engine_input import EngineInput
from bigfleet.explain.decided_cycle import NoSuchObject, SeveralObjects
from bigfleet.journal.history import BrokenJournal, History, RecordedCycle, cycle_at
from bigfleet.journal.recorded_holds import rails_of
from bigfleet.journal.segments import UnreadableJournal, segments_of
from bigfleet.model.errors import BadInput
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.what_if import WhatIfAnswer, WhatIfCall
from bigfleet.regret.meter import regret_of
from bigfleet.whatif.counterfactual_answers import answered as counterfactual_answer
from bigfleet.whatif.questions import Questions
from bigfleet.whatif.sweep_axes import axes_of
from bigfleet.whatif.sweeping import sweep_until
from bigfleet.wire import counterfactuals, isolated
from bigfleet.wire.journal_records import record_of
from bigfleet.wire.regrets import regret_bytes
from bigfleet.wire.what_ifs import answer_bytes, read_call

LENGTH_BYTES = 8
#: What is asked; READY: nothing, the answer tells that the process is up.
WHAT_IF, COUNTERFACTUAL, REGRET, READY = "what-if", "counterfactual", "regret", "ready"
ISOLATED = "isolated"
#: Cycles go first; at 19 a question on a busy machine would wait for minutes.
NICENESS = 10
_SHORTER = "ask for less of it with --from, or compare the journal itself with --journal"
#: Of prctl(2).
_PR_SET_PDEATHSIG = 1
#: A sweep ends with the points it has before `LONGEST_SECONDS` of `driving/what_ifs.py` end it
#: without any.
SWEEP_SECONDS = 50.0
#: Of a journal, compressed, that is read twice in half a minute on one busy core.
MOST_ISOLATED_BYTES = 16 * 2**20


def main() -> None:
    # Read from the shard's cache, and before the process steps back: a first question waits for it.
    compile_kernels()
    os.nice(NICENESS)
    _end_with_parent()
    questions, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # What a library prints must not get between two answers.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    while (head := read_frame(questions)) is not None:
        asked = json.loads(head)
        frames = [read_frame(questions) or b"" for _ in range(asked["frames"])]
        code, content = answered(asked, frames)
        for frame in (json.dumps({"code": code}).encode(), content):
            answers.write(len(frame).to_bytes(LENGTH_BYTES, "big") + frame)
        answers.flush()


def _end_with_parent() -> None:
    """Also while it stands still, and so cannot see that its input has ended; Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def read_frame(stream: BinaryIO) -> bytes | None:
    """None: the other side has gone."""
    length = stream.read(LENGTH_BYTES)
    return stream.read(int.from_bytes(length, "big")) if len(length) == LENGTH_BYTES else None


def answered(asked: dict[str, Any], frames: Sequence[bytes]) -> tuple[str, bytes]:
    """The first frame is the request, the others are the records of the cycle, if it is not to be
    read from the journal."""
    began = stopwatch()
    if asked.get("question") == READY:
        return "", b""
    try:
        if asked.get("question") == ISOLATED:
            return "", _isolated(Path(asked["journal"]), frames[0], began)
        cycle, shard, name = _cycle_of(asked, frames[1:])
        given = cycle.given
        if asked.get("question") == REGRET:
            measured = replace(regret_of(given.decide(workers=1)), cycle=given.cycle, at=given.at)
            return "", regret_bytes(measured)
        if asked.get("question") == COUNTERFACTUAL:
            why = counterfactuals.read_call(frames[0])
            rails = rails_of(cycle, shard)
            told = counterfactual_answer(given, why, name, stopwatch, rails)
            return "", counterfactuals.answer_bytes(told)
        return "", answer_bytes(_what_if(given, read_call(frames[0]), name, began))
    except Rejected as rejected:
        return rejected.code.name, rejected.text.encode()
    except NoSuchObject as problem:
        return Code.NOT_FOUND.name, str(problem).encode()
    except SeveralObjects as problem:
        return Code.INVALID_ARGUMENT.name, str(problem).encode()
    except BadInput as problem:
        text = "; ".join(str(each) for each in problem.problems)
        return Code.INVALID_ARGUMENT.name, text.encode()


def _what_if(given: EngineInput, call: WhatIfCall, name: str, began: float) -> WhatIfAnswer:
    axes = axes_of(call.sweep)
    questions = Questions(given, name, call.latencies if call.settle else None)
    told = questions.answer(call.edits, with_machines=call.with_machines)
    if not axes:
        return told

    def left() -> float:
        return began + SWEEP_SECONDS - stopwatch()

    sweep = sweep_until(questions, call.edits, axes, left, frozenset(told.warnings))
    return replace(told, sweep=sweep)


def _isolated(journal: Path, request: bytes, began: float) -> bytes:
    call = isolated.read_call_bytes(request)

    def is_time_up() -> bool:
        return stopwatch() > began + SWEEP_SECONDS

    try:
        reading, left_out = latest_part(segments_of(journal), call, MOST_ISOLATED_BYTES)
        report = isolated_report(reading, call, is_time_up)
    except NothingToCompare as problem:
        raise Rejected(Code.OUT_OF_RANGE, str(problem)) from None
    except TooLong:
        text = f"reading the journal takes longer than {SWEEP_SECONDS:g} s; {_SHORTER}"
        raise Rejected(Code.RESOURCE_EXHAUSTED, text) from None
    except (UnreadableJournal, BrokenJournal) as problem:
        raise Rejected(Code.OUT_OF_RANGE, f"the journal cannot be read: {problem}") from None
    why = "; ".join(each for each in (report.cut_short, left_out) if each)
    return isolated.report_bytes(replace(report, cut_short=why))


def _cycle_of(asked: dict[str, Any], records: Sequence[bytes]) -> tuple[RecordedCycle, str, str]:
    """With the id of the shard, and the name of the cycle."""
    if records:
        history = History()
        cycle = next(iter(history.cycles(map(record_of, records))))
        return cycle, history.header.shard_id, asked["name"]
    epoch, number = asked["epoch"], asked["cycle"]
    try:
        found = cycle_at(segments_of(Path(asked["journal"])), (epoch, number))
    except (UnreadableJournal, BrokenJournal) as problem:
        raise Rejected(Code.OUT_OF_RANGE, f"cycle {number} cannot be read: {problem}") from None
    if found is None:
        raise Rejected(Code.OUT_OF_RANGE, f"cycle {epoch}:{number} is not kept in the journal")
    return found.recorded, found.header.shard_id, found.name


if __name__ == "__main__":
    main()
