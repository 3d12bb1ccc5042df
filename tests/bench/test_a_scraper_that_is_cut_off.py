"""A bench that ends in the middle of a metrics page leaves no connection open."""

import asyncio

import pytest

from bigfleet.bench.scraping import metrics_page


async def test_a_page_that_is_given_up_is_closed() -> None:
    asked, closed = asyncio.Event(), asyncio.Event()

    async def never_answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        assert await reader.read() == b""
        closed.set()
        writer.close()

    async with await asyncio.start_server(never_answers, "127.0.0.1", 0) as server:
        reading = asyncio.create_task(metrics_page(server.sockets[0].getsockname()[1]))
        await asked.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await closed.wait()
