"""A journal of another life, replayed by processes that differ in what machines differ in: the seed
of hashes, the number of threads, and the code the kernels are compiled to."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.journal.stored_journal import STORED
from tests.questions.recorded_night import NIGHT

#: Both were recorded by other processes, long before this one.
JOURNALS = {"a night": NIGHT, "a life": STORED}
VERBS = "from bigfleet.cli.main import main; main()"
PLAIN_PYTHON = {"NUMBA_DISABLE_JIT": "1"}


def replayed(journal: Path, *flags: str, **environment: str) -> dict[str, object]:
    words = [sys.executable, "-c", VERBS, "replay", str(journal), *flags, "-o", "json"]
    done = subprocess.run(
        words, capture_output=True, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr.decode()
    told: dict[str, object] = json.loads(done.stdout)
    return told


def assert_identical(told: dict[str, object]) -> None:
    assert told["cycles"] == told["identical"] != 0
    assert (told["different"], told["missing"]) == (0, 0)


@pytest.mark.parametrize("journal", JOURNALS.values(), ids=JOURNALS.keys())
@pytest.mark.parametrize("seed", ["0", "4242"], ids=lambda seed: f"hash seed {seed}")
def test_hashes_of_another_process_change_nothing(journal: Path, seed: str) -> None:
    assert_identical(replayed(journal, "--workers", "8", PYTHONHASHSEED=seed))


def test_kernels_that_are_not_compiled_decide_what_compiled_ones_did() -> None:
    assert_identical(replayed(NIGHT, PYTHONHASHSEED="7", **PLAIN_PYTHON))


@pytest.mark.nightly("compiles every kernel")
def test_kernels_compiled_for_any_processor_decide_the_same(tmp_path: Path) -> None:
    """Without the vector instructions of this machine, and without what it has compiled before."""
    other = {"NUMBA_CPU_NAME": "generic", "NUMBA_CACHE_DIR": str(tmp_path)}
    for journal in JOURNALS.values():
        assert_identical(replayed(journal, **other))
