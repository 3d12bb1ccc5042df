"""A process's metrics page, read as a scraper reads it."""

import asyncio


async def metrics_page(port: int) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: bench\r\n\r\n")
        return (await reader.read()).decode()
    finally:
        # Also where the bench ends in the middle of a page.
        writer.close()
