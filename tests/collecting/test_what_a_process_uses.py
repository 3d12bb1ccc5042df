"""CPU and memory of this process: cores over the last minute, independent of earlier questions."""

from bigfleet.edge.process_usage import ProcessUsage


class Counters:
    def __init__(self) -> None:
        self.now = self.cpu = 0.0
        self.reads = 0

    def cpu_seconds(self) -> float:
        self.reads += 1
        return self.cpu


def usage_of(counters: Counters) -> ProcessUsage:
    return ProcessUsage(lambda: counters.now, counters.cpu_seconds, lambda: 300 * 2**20)


def live(counters: Counters, usage: ProcessUsage, seconds: int, cores: float) -> None:
    for _ in range(seconds * 10):
        counters.now += 0.1
        counters.cpu += 0.1 * cores
        usage.sample()


def test_cores_are_those_of_the_last_minute() -> None:
    counters = Counters()
    usage = usage_of(counters)
    live(counters, usage, 10, cores=1.0)
    assert round(usage.cores_used(), 2) == 1.0, (
        "since the start, where that is less than a minute ago"
    )
    live(counters, usage, 120, cores=0.25)
    assert round(usage.cores_used(), 2) == 0.25
    live(counters, usage, 30, cores=1.25)
    assert 0.7 < usage.cores_used() < 0.8
    assert usage.resident_bytes() == 300 * 2**20


def test_samples_are_few() -> None:
    counters = Counters()
    usage = usage_of(counters)
    live(counters, usage, 3600, cores=0.5)
    assert counters.reads <= 3600 / 5 + 2
    assert len(usage) <= 13


def test_a_process_that_has_just_begun_has_used_nothing() -> None:
    assert usage_of(Counters()).cores_used() == 0.0


def test_this_process_has_memory() -> None:
    assert ProcessUsage(lambda: 0.0, lambda: 0.0).resident_bytes() > 2**20
