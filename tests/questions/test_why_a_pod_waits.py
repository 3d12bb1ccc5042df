"""Question 3: is it BigFleet or the scheduler that a pod waits for? A living shard, and the API
server of a cluster as the tests have it."""

import re
from pathlib import Path

import pytest

from tests.architecture.pages import blocks_of, normalised
from tests.questions.pages_of_answers import QUESTIONS
from tests.why_pod.cluster import SPEC, TYPE, PodsCluster, need_of, pods_cluster

#: No machine of the fleet is one.
GPU = {**SPEC, "requirements": [{"key": TYPE, "operator": "In", "values": ["gpu-8"]}]}
_AGO = re.compile(r"\d+(\.\d+)? s ago")


async def waits_for_bigfleet(east: PodsCluster) -> str:
    east.pod("train-1")
    east.request("train-1", spec=GPU)
    async with east.shard.operator("east", need_of(GPU, 1)):
        ledger = east.shard.process.state.decision_loop
        await east.shard.until(lambda: ledger.ledger.counts("east").short == 1)
        return await east.shown("pod/east/shop/train-1")


async def waits_for_the_scheduler(east: PodsCluster) -> str:
    east.pod("web-1")
    east.request("web-1")
    east.joined("sim--bare-metal--std-8--a--000", "node-a")
    async with east.shard.operator("east", need_of(SPEC, 1)):
        await east.shard.until_bound("east", 1)
        return await east.shown("pod/east/shop/web-1")


CASES = {
    "pod/east/shop/train-1": (waits_for_bigfleet, "SHORT  pod/east/shop/train-1: "),
    "pod/east/shop/web-1": (waits_for_the_scheduler, "COVERED, NOT PLACED  "),
}


@pytest.mark.parametrize("name", CASES)
async def test_the_first_words_say_for_whom_it_waits(name: str, tmp_path: Path) -> None:
    asked, headline = CASES[name]
    async with pods_cluster(tmp_path) as east:
        told = await asked(east)
    assert told.startswith(headline)
    assert steady(told) == steady(on_the_page(f"bigfleet why {name}")), told


def on_the_page(command: str) -> str:
    """What the page shows below the command, which the tests of pages cannot run."""
    texts = [block.text for block in blocks_of(QUESTIONS) if block.language == "text"]
    (found,) = [text for text in texts if text.startswith(f"$ {command}\n")]
    return found.partition("\n")[2]


def steady(text: str) -> list[list[str]]:
    return [line.split() for line in normalised(_AGO.sub("<n> s ago", text)).splitlines()]
