"""A busy port that was only a default is left for a free one; one that was asked for is not."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bigfleet.provider.options import ProviderOptions
from tests.provider.rig import OPTIONS, Told, running
from tests.provider.serving.test_coming_up_and_going_down import page


async def _closes(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


@pytest.fixture
async def taken() -> AsyncIterator[ProviderOptions]:
    """Options whose address for metrics is in use."""
    async with await asyncio.start_server(_closes, "127.0.0.1", 0) as other:
        port = other.sockets[0].getsockname()[1]
        yield replace(OPTIONS, metrics_address=f"127.0.0.1:{port}")


async def test_a_default_that_is_taken_is_left_for_a_free_port(taken: ProviderOptions) -> None:
    log = Told()
    async with running(options=replace(taken, metrics_may_move=True), log=log) as rig:
        moved = rig.server.metrics_port
        assert not taken.metrics_address.endswith(f":{moved}")
        assert (await page(moved, "/healthz"))[0] == 200
    assert log.lines["metrics.moved"]["wanted"] == taken.metrics_address
    assert log.lines["metrics.moved"]["port"] == moved


async def test_an_address_that_was_asked_for_and_is_taken_refuses_the_start(
    taken: ProviderOptions,
) -> None:
    said = f"^cannot listen on {taken.metrics_address}: Address already in use; free"
    with pytest.raises(OSError, match=said):
        async with running(options=taken):
            pass
