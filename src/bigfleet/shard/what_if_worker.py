"""The process that answers what-ifs and counterfactuals of a shard: at a low priority, one after
the other.

Questions come on standard input, answers go to standard output, each as frames: eight bytes of
length, then the content. It ends when its input ends, so that it never outlives its shard.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from bigfleet.compiling import compile_kernels
from bigfleet.edge.driver import stopwatch
from bigfleet.explain.decided_cycle import NoSuchObject, SeveralObjects
from bigfleet.journal.history import BrokenJournal, History, RecordedCycle, cycle_at
from bigfleet.journal.recorded_holds import rails_of
from bigfleet.journal.segments import UnreadableJournal, segments_of
from bigfleet.model.errors import BadInput
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.whatif.comparing import once
from bigfleet.whatif.counterfactual_answers import answered as counterfactual_answer
from bigfleet.whatif.settled import settle
from bigfleet.wire import counterfactuals
from bigfleet.wire.journal_records import record_of
from bigfleet.wire.what_ifs import answer_bytes, read_call

LENGTH_BYTES = 8
#: What is asked.
WHAT_IF, COUNTERFACTUAL = "what-if", "counterfactual"
#: Cycles go first; at 19 a question on a busy machine would wait for minutes.
NICENESS = 10


def main() -> None:
    # Read from the shard's cache, and before the process steps back: a first question waits for it.
    compile_kernels()
    os.nice(NICENESS)
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


def read_frame(stream: BinaryIO) -> bytes | None:
    """None: the other side has gone."""
    length = stream.read(LENGTH_BYTES)
    return stream.read(int.from_bytes(length, "big")) if len(length) == LENGTH_BYTES else None


def answered(asked: dict[str, Any], frames: Sequence[bytes]) -> tuple[str, bytes]:
    """The first frame is the request, the others are the records of the cycle, if it is not to be
    read from the journal."""
    try:
        cycle, shard, name = _cycle_of(asked, frames[1:])
        given = cycle.given
        if asked.get("question") == COUNTERFACTUAL:
            why = counterfactuals.read_call(frames[0])
            rails = rails_of(cycle, shard)
            told = counterfactual_answer(given, why, name, stopwatch, rails)
            return "", counterfactuals.answer_bytes(told)
        call = read_call(frames[0])
        if call.settle:
            return "", answer_bytes(settle(given, call.edits, name, call.latencies))
        return "", answer_bytes(once(given, call.edits, name))
    except Rejected as rejected:
        return rejected.code.name, rejected.text.encode()
    except NoSuchObject as problem:
        return Code.NOT_FOUND.name, str(problem).encode()
    except SeveralObjects as problem:
        return Code.INVALID_ARGUMENT.name, str(problem).encode()
    except BadInput as problem:
        text = "; ".join(str(each) for each in problem.problems)
        return Code.INVALID_ARGUMENT.name, text.encode()


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
