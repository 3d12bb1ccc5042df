"""Processes that start warm: forked from one that has imported what all mutants share.

Importing the compiler takes four times as long as killing a mutant. Nothing of BigFleet is imported
before the fork, so each process finds the copy it is given; kernels stay plain Python.
"""

import multiprocessing
import os
import sys
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from unittest.mock import patch

from tests.mutants.mutant import Seen

_SHARED = ["numpy", "numba", "hypothesis.strategies", "unittest.mock", "multiprocessing.connection"]


@cache
def warm_context() -> ForkServerContext:
    """The server keeps the environment it is started with; start it before any thread."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_SHARED)
    with patch.dict(os.environ, NUMBA_DISABLE_JIT="1"):
        ensure_running()
    return context


def answer_killing_test(
    answer: Connection, package: Path, first: Seen, fleets: int, loops: int
) -> None:
    """In the new process: what killed the copy, None if nothing did, or why it cannot be told."""
    sys.path.insert(0, str(package.parent))
    try:
        from tests.mutants.killing_test import killed_by

        answer.send(killed_by(package, first, fleets, loops))
    except Exception as raised:  # noqa: BLE001
        answer.send(RuntimeError(f"{type(raised).__name__}: {raised}"))
