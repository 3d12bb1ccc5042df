"""The Dockerfile as text, for no container engine is taken for granted; its start script, run."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT

IMAGES = ROOT / "deploy" / "images"
START = IMAGES / "start.sh"
DOCKERFILE = (IMAGES / "Dockerfile").read_text()
#: Continued lines joined, comments left out.
LINES = [
    line
    for line in DOCKERFILE.replace("\\\n", " ").splitlines()
    if line.strip() and not line.lstrip().startswith("#")
]
FINAL = ("bigfleet-lite", "bigfleet")


def stages() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in LINES:
        if named := re.fullmatch(r"FROM (\S+) AS (\S+)", line):
            found[named[2]] = [named[1]]
        elif found:
            found[list(found)[-1]].append(line)
    return found


def words_of(stage: str, instruction: str) -> list[str]:
    """With those of the stage it is built on."""
    base, *lines = stages()[stage]
    inherited = words_of(base, instruction) if base in stages() else []
    return inherited + [
        line.removeprefix(f"{instruction} ") for line in lines if line.startswith(f"{instruction} ")
    ]


def test_every_stage_begins_with_the_pinned_python_or_with_another_stage() -> None:
    bases = {base for base, *_ in stages().values()}
    assert bases - stages().keys() == {"${PYTHON_IMAGE}"}
    (argument,) = re.findall(r"^ARG PYTHON_IMAGE=(\S+)$", DOCKERFILE, re.MULTILINE)
    assert re.fullmatch(r"python:3\.11\.\d+-slim-[a-z]+", argument)


def test_nothing_moves_under_a_tag_that_moves() -> None:
    assert ":latest" not in DOCKERFILE


@pytest.mark.parametrize("stage", FINAL)
def test_an_image_runs_as_a_number_that_is_not_root(stage: str) -> None:
    assert words_of(stage, "USER") == ["65532:65532"]


def test_the_user_of_the_image_is_the_one_the_charts_run_it_as() -> None:
    pods = (ROOT / "deploy/helm/bigfleet/templates/_shared.tpl").read_text()
    assert re.findall(r"(?:runAsUser|runAsGroup|fsGroup): (\d+)", pods) == ["65532"] * 3


def test_everything_that_is_downloaded_is_checked_by_hash() -> None:
    commands = [
        part.strip() for line in LINES if line.startswith("RUN") for part in line.split("&&")
    ]
    installs = [each for each in commands if re.search(r"\bpip\b.*\binstall\b(?!er)", each)]
    downloads = [each for each in installs if "--no-index" not in each and "uninstall" not in each]
    assert len(downloads) == 3
    assert all("--require-hashes" in each and "--no-deps" in each for each in downloads)
    assert all("--no-build-isolation" in each for each in commands if "pip wheel" in each)


def test_the_tools_that_build_the_wheel_are_all_locked() -> None:
    (names,) = re.findall(r"awk '/\^\(([^)]*)\)==/", DOCKERFILE)
    locked = re.findall(
        r"^([a-z0-9-]+)==", (ROOT / "requirements/dev.txt").read_text(), re.MULTILINE
    )
    assert set(names.split("|")) <= set(locked)


def test_the_solver_of_the_regret_meter_is_locked_and_only_for_who_asks_for_it() -> None:
    (added,) = (line for line in LINES if "highspy" in line)
    assert added.startswith('RUN if [ -n "${WITH_REGRET}" ]; then ')
    assert "ARG WITH_REGRET=" in LINES
    assert re.search(r"^highspy==", (ROOT / "requirements/dev.txt").read_text(), re.MULTILINE)


def test_an_image_holds_nothing_but_what_was_built() -> None:
    for stage in FINAL:
        assert [words.split()[0] for words in words_of(stage, "COPY")] in (
            ["--from=lightened"],
            ["--from=warmed"],
        )


def test_what_is_copied_from_the_tree_is_there_and_let_through() -> None:
    let_through = (IMAGES / "Dockerfile.dockerignore").read_text().splitlines()
    sources = [
        source
        for line in LINES
        if line.startswith("COPY") and "--from" not in line
        for source in line.split()[1:-1]
        if not source.startswith("--")
    ]
    assert len(sources) == 7
    assert [source for source in sources if not (ROOT / source).exists()] == []
    assert [source for source in sources if f"!{source}" not in let_through] == []


def test_the_kernels_lie_where_the_chart_mounts_a_cache() -> None:
    assert words_of("bigfleet", "ENV")[-1] == "NUMBA_CACHE_DIR=/var/cache/bigfleet"
    shard = (ROOT / "deploy/helm/bigfleet/templates/shard.yaml").read_text()
    assert "{name: kernels, mountPath: /var/cache/bigfleet}" in shard


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A folder in place of the image: kernels, an empty cache, a bigfleet that says its words."""
    for name in ("bin", "kernels/engine", "cache"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "kernels/engine/fold.nbc").write_text("compiled")
    bigfleet = tmp_path / "bin/bigfleet"
    bigfleet.write_text('#!/bin/sh\necho "$@"\n')
    bigfleet.chmod(0o755)
    return tmp_path


def started(image: Path, cache: str) -> str:
    environment = {
        "PATH": f"{image / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "BIGFLEET_KERNELS": str(image / "kernels"),
        **({"NUMBA_CACHE_DIR": str(image / cache)} if cache else {}),
    }
    done = subprocess.run(
        ["sh", str(START), "shard", "--id", "shard 0"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_a_start_lays_the_kernels_into_an_empty_cache(image: Path) -> None:
    assert started(image, "cache") == "shard --id shard 0"
    assert (image / "cache/engine/fold.nbc").read_text() == "compiled"


def test_a_start_leaves_a_cache_that_is_in_use_alone(image: Path) -> None:
    (image / "cache/own.nbc").write_text("compiled for this processor")
    started(image, "cache")
    assert [path.name for path in (image / "cache").iterdir()] == ["own.nbc"]


@pytest.mark.parametrize(
    "cache", ["", "no-such-folder"], ids=["no cache", "a cache that is not there"]
)
def test_a_start_without_a_cache_starts_all_the_same(image: Path, cache: str) -> None:
    assert started(image, cache) == "shard --id shard 0"
