"""A page that takes long is made in a thread: probes are answered meanwhile, and those who ask for
it at once share it."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families

from bigfleet.edge.counts import Counts
from bigfleet.edge.exposition import LEFT_OFF, Catalogue, Exposition, page_of
from bigfleet.edge.pages import HttpAnswer, Pages, probe
from tests.shard_system.rig import page
from tests.shard_system.waiting import until


class Slow:
    """A page that is made when the test says so."""

    def __init__(self) -> None:
        self.may_end = threading.Event()
        self.threads: list[str] = []

    def page(self) -> HttpAnswer:
        return HttpAnswer(b"", "text/plain", build=self._build)

    def _build(self) -> bytes:
        self.threads.append(threading.current_thread().name)
        self.may_end.wait(60)
        return b"x" * 3_000_000


@asynccontextmanager
async def serving(slow: Slow) -> AsyncIterator[int]:
    pages = Pages({"/metrics": slow.page, "/healthz": lambda: probe(True, "alive")}, {})
    port = await pages.start("127.0.0.1:0")
    try:
        yield port
    finally:
        slow.may_end.set()
        await pages.stop()


async def test_probes_are_answered_while_a_page_is_made() -> None:
    slow = Slow()
    async with serving(slow) as port:
        scraping = asyncio.create_task(page(port, "/metrics"))
        await until(lambda: slow.threads)
        assert (await page(port, "/healthz"))[0] == 200
        assert not scraping.done()
        slow.may_end.set()
        status, text = await scraping
        assert (status, len(text)) == (200, 3_000_000)
        assert slow.threads != [threading.main_thread().name]


async def test_those_who_ask_at_once_share_a_page() -> None:
    slow = Slow()
    async with serving(slow) as port:
        first = asyncio.create_task(page(port, "/metrics"))
        await until(lambda: slow.threads)
        others = [asyncio.create_task(page(port, "/metrics")) for _ in range(5)]
        # Each of them is being answered once a later request is.
        await page(port, "/healthz")
        slow.may_end.set()
        answers = [await each for each in (first, *others)]
        assert {status for status, _ in answers} == {200}
        assert len(slow.threads) == 1


async def test_one_who_hangs_up_does_not_take_the_page_from_the_others() -> None:
    slow = Slow()
    async with serving(slow) as port:
        first = asyncio.create_task(page(port, "/metrics"))
        await until(lambda: slow.threads)
        second = asyncio.create_task(page(port, "/metrics"))
        await page(port, "/healthz")
        first.cancel()
        await asyncio.wait({first})
        slow.may_end.set()
        assert (await second)[0] == 200


async def test_a_fault_while_a_page_is_made_answers_one_request() -> None:
    def broken() -> bytes:
        raise RuntimeError("no")

    pages = Pages({"/metrics": lambda: HttpAnswer(b"", build=broken)}, {})
    port = await pages.start("127.0.0.1:0")
    try:
        assert (await page(port, "/metrics"))[0] == 500
    finally:
        await pages.stop()


def test_a_page_is_made_of_a_copy_and_changes_nothing() -> None:
    counts = Counts()
    counts.add("seen_total")

    def survey(of_page: Counts) -> None:
        of_page.set("found", 7)

    catalogue = Catalogue("p_", {}, {"seen_total": "Seen."}, {"found": "Found."})
    answer = Exposition(catalogue, counts, lambda: survey, "1").page()
    counts.add("seen_total", 41)
    assert answer.build is not None
    text = answer.build().decode()
    assert "p_seen_total 1.0" in text
    assert "p_found 7.0" in text
    assert counts.gauges == {}


def test_what_does_not_fit_on_a_page_is_left_off_and_told() -> None:
    def family(name: str, rows: int) -> GaugeMetricFamily:
        made = GaugeMetricFamily(name, "", labels=["row"])
        for row in range(rows):
            made.add_metric([str(row)], 1)
        return made

    text = page_of([family("few", 3), family("many", 1000), family("some", 5)], 2000).decode()
    samples = [s for each in text_string_to_metric_families(text) for s in each.samples]
    assert {sample.name for sample in samples} == {"few", "some", LEFT_OFF}
    assert [sample.value for sample in samples if sample.name == LEFT_OFF] == [1000]
    assert text.endswith("# 1000 series are left off: a page has 2000 bytes at most\n")
