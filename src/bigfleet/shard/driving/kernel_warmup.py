"""Compiles the kernels before a shard serves, in a thread of its own, and tells how far it is.

Compiled on first use they would stop a cycle for seconds, and some of them the event loop.
"""

import asyncio

from bigfleet import compiling
from bigfleet.edge.logs import Log

#: Less is a cache being read: not worth a line.
_WORTH_A_LINE_SECONDS = 2.0


class _Stopped(Exception):
    """Ends the thread that compiles, between two kernels."""


class KernelWarmup:
    """Compiles once; `why_not_ready` is empty when every kernel is compiled."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._is_done = False
        self._is_stopped = False
        #: Written by the thread that compiles.
        self._progress = compiling.Progress(0, len(compiling.all_kernels()), "", 0.0)

    async def run(self) -> None:
        """Cancelled, it ends at once; its thread ends with the kernel under way."""
        try:
            ended = await asyncio.to_thread(compiling.compile_kernels, self._told)
        except asyncio.CancelledError:
            self._is_stopped = True
            raise
        self._is_done = True
        if ended.seconds >= _WORTH_A_LINE_SECONDS:
            text = f"compiled {ended.total} kernels in {ended.seconds:.1f} s"
            self._log.info("kernels.compiled", msg=text, seconds=round(ended.seconds, 1))
        if why := compiling.why_not_kept():
            self._log.warning("kernels.not_kept", msg=why)

    @property
    def is_done(self) -> bool:
        return self._is_done

    def why_not_ready(self) -> str:
        if self._is_done:
            return ""
        done, total, _, seconds = self._progress
        return f"compiling kernels: {done} of {total} after {seconds:.0f} s"

    def _told(self, progress: compiling.Progress) -> None:
        self._progress = progress
        if self._is_stopped:
            raise _Stopped
