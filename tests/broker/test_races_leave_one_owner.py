"""Many threads propose at once: no machine has two owners, and the highest keeps it."""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from threading import Lock

from bigfleet.engine.decision import Mode
from bigfleet.model.machines import MachineState
from tests.broker.broker import NO_NEED, Broker, Bucket, Result, Status

IDLE = Bucket(MachineState.IDLE, "p=100")


def propose_until_settled(broker: Broker, need: int, machines: Sequence[int]) -> Result:
    """A stale proposal is made again; any other conflict is an answer."""
    seen = broker.seq(IDLE)
    while True:
        result = broker.propose(need, machines, IDLE, seen, Mode.INCREMENTAL)
        if result.status is Status.COMMITTED or result.new_seq == seen:
            return result
        seen = result.new_seq


def one_by_one(broker: Broker, need: int, machines: Sequence[int]) -> list[Result]:
    return [propose_until_settled(broker, need, [machine]) for machine in machines]


def rotated(size: int, by: int) -> list[int]:
    return [(by + place) % size for place in range(size)]


def test_workers_of_equal_precedence_never_claim_one_machine_twice() -> None:
    """B9: each of 32 workers tries every one of 200 machines, starting somewhere else."""
    workers, machines = 32, 200
    broker = Broker(machines, [(100, 1, 1)] * workers, [10] * workers, Lock())
    with ThreadPoolExecutor(workers) as threads:
        tasks = [
            threads.submit(one_by_one, broker, need, rotated(machines, 6 * need))
            for need in range(workers)
        ]
        results = list(chain.from_iterable(task.result() for task in tasks))
    claimed = Counter(chain.from_iterable(result.committed for result in results))
    assert claimed == dict.fromkeys(range(machines), 1)
    assert NO_NEED not in broker.holders()
    assert broker.seq(IDLE) == machines


def test_the_highest_of_racing_needs_owns_every_machine_in_the_end() -> None:
    """B25."""
    priorities, machines = (100, 200, 300, 400), range(50)
    broker = Broker(len(machines), [(p, 1, 1) for p in priorities], [1000] * 4, Lock())
    with ThreadPoolExecutor(len(priorities)) as threads:
        tasks = [
            threads.submit(propose_until_settled, broker, need, machines)
            for need in range(len(priorities))
        ]
        for task in tasks:
            task.result()
    assert set(broker.holders()) == {priorities.index(400)}


def test_what_was_committed_and_not_displaced_is_what_is_claimed() -> None:
    """B26: machine by machine, so that a displaced Need is a displaced machine."""
    machines = 60
    broker = Broker(machines, [(100 * n, 1, 1) for n in range(8)], [1000] * 8, Lock())
    with ThreadPoolExecutor(8) as threads:
        tasks = [
            threads.submit(one_by_one, broker, need, rotated(machines, 11 * need)[:40])
            for need in range(8)
        ]
        results = list(chain.from_iterable(task.result() for task in tasks))
    committed = sum(len(result.committed) for result in results)
    displaced = sum(len(result.displaced) for result in results)
    held = [holder for holder in broker.holders() if holder != NO_NEED]
    assert committed - displaced == len(held) > 0
