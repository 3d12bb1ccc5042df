"""After `compile_kernels` nothing is left to compile, for any decision."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bigfleet import compiling
from bigfleet.cli.main import cli
from tests.warming.dispatchers import dispatchers, is_cached

ROOT = Path(__file__).parents[2]


def told(**environment: str) -> dict[str, Any]:
    """What `many_decisions` prints, run with this environment."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.warming.many_decisions"],
        env={**os.environ, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100 if not environment else 900,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


def test_every_kernel_is_in_the_list_of_all_kernels() -> None:
    known = {each.name for each in compiling.all_kernels()}
    assert known == {name for name, each in dispatchers().items() if is_cached(each)}


def test_decisions_of_every_kind_compile_nothing_more() -> None:
    seen = told()
    assert set(seen["kinds"]) == {"Bootstrap", "Provision", "Reclaim", "Preempt", "Delete"}
    assert seen["after"] == seen["before"]
    kernels = [name for name, types in seen["before"].items() if name in seen["missed"]]
    assert all(len(seen["before"][name]) == 1 for name in kernels)
    if os.environ.get("CI"):
        assert not any(seen["missed"].values()), "`make warm` left something to compile"


@pytest.mark.nightly("compiles everything")
@pytest.mark.timeout(1800)
def test_a_cache_that_was_warmed_once_has_all_of_it(tmp_path: Path) -> None:
    own = {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", "from bigfleet.cli.main import main; main()", "warm"]
    warmed = subprocess.run(
        command, env={**os.environ, **own}, capture_output=True, text=True, check=True
    )
    assert f"kept in {tmp_path}" in warmed.stdout
    seen = told(**own)
    assert seen["after"] == seen["before"]
    assert not any(seen["missed"].values())


def test_the_verb_says_how_many_and_where_they_are_kept() -> None:
    done = CliRunner().invoke(cli, ["warm"])
    assert done.exit_code == 0, done.output
    assert f"{len(compiling.all_kernels())} kernels are compiled, after " in done.stdout
    assert f"kept in {compiling.CACHE_FOLDER}" in done.stdout


def test_where_nothing_can_be_written_code_is_compiled_in_memory_with_one_warning() -> None:
    code = (
        "from bigfleet import compiling; import numpy as np\n"
        "from bigfleet.engine.kernels.hashing import number_by_value\n"
        "print(number_by_value(np.array([5, 5, 7]))[0].tolist())\n"
        "print(compiling.why_not_kept())"
    )
    # Below a file there is no folder, not even for root.
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": "/dev/null/kernels"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    numbers, why = done.stdout.splitlines()
    assert numbers == "[0, 0, 1]"
    assert why.startswith("compiled kernels cannot be kept")
    assert "NUMBA_CACHE_DIR" in why


def test_a_folder_that_cannot_be_written_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = tmp_path / "good", "/dev/null/bad"
    monkeypatch.setattr(compiling, "_candidates", lambda given: iter([bad, str(good)]))
    assert compiling.writable_folder("", "v1") == f"{good}/bigfleet-kernels-v1"
    monkeypatch.setattr(compiling, "_candidates", lambda given: iter([bad]))
    assert compiling.writable_folder("", "v1") == ""


def test_a_full_disk_stops_no_start() -> None:
    class Full:
        signatures = [("int64",)]

        def compile(self, signature: tuple[object, ...]) -> object:
            raise OSError(28, "No space left on device")

    full: Any = Full()
    compiling.Kernel("k", full, lambda: None).compile()
    Full.signatures = []
    with pytest.raises(OSError, match="No space left"):
        compiling.Kernel("k", full, lambda: None).compile()
