"""Follows the events of a shard, for as long as it is a shard of the fleet.

One that does not answer is asked again, later each time; what it said last stays. A stream that is
silent for too long is a broken one: a shard decides every few seconds.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from bigfleet.edge.clock import Clock
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.watch_events import ShardEvent, WatchCall
from bigfleet.wire.shard_admin import ShardAdminClient

FIRST_PAUSE, LONGEST_PAUSE = 0.25, 10.0
#: Twice the longest interval between two cycles that is usual.
LONGEST_SILENCE = 30.0


class Follower:
    """One stream of a shard; its task ends when it is cancelled."""

    def __init__(
        self,
        client: ShardAdminClient,
        clock: Clock,
        call: Callable[[], WatchCall],
        on_down: Callable[[str], None],
    ) -> None:
        """`call`: what is asked for, each time anew; `on_down`: told why there is no answer."""
        self._client = client
        self._clock = clock
        self._call = call
        self._on_down = on_down

    async def events(self) -> AsyncGenerator[ShardEvent, None]:
        """For ever, through all failures."""
        pause = FIRST_PAUSE
        while True:
            try:
                async with aclosing(self._client.watch_events(self._call())) as frames:
                    while True:
                        async with asyncio.timeout(LONGEST_SILENCE):
                            event = await anext(frames)
                        pause = FIRST_PAUSE
                        yield event
            except TimeoutError:
                self._on_down(f"it has told nothing for {LONGEST_SILENCE:.0f} s")
            except StopAsyncIteration:
                self._on_down("it has ended the stream")
            except Rejected as problem:
                if problem.code is not Code.RESOURCE_EXHAUSTED:
                    self._on_down(problem.text)
            await self._clock.sleep(pause)
            pause = min(LONGEST_PAUSE, 2 * pause)
