"""The command lines and files of every pod, read by the programs they are for."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.e2e.charts.rendering import TRIALS, Trial, Workload, workloads

BIGFLEET = Path(sys.executable).with_name("bigfleet")


@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_a_process_understands_its_words_and_its_file(trial: Trial, tmp_path: Path) -> None:
    found = [each for each in workloads(trial.objects()) if each.config is not None]
    assert found
    for workload in found:
        understands(workload, tmp_path)


def understands(workload: Workload, folder: Path) -> None:
    assert workload.config is not None
    for name, text in workload.config["data"].items():
        (folder / name).write_text(text)
    words = [word.replace("/etc/bigfleet/config", str(folder)) for word in workload.words]
    done = subprocess.run(
        [str(BIGFLEET), *words, "--print-config", "-o", "json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert workload.words[0] in yaml.safe_load((folder / "bigfleet.yaml").read_text())


def test_an_unknown_setting_would_be_noticed(tmp_path: Path) -> None:
    (workload, *_) = workloads(TRIALS[0].objects())
    assert workload.config is not None
    workload.config["data"]["bigfleet.yaml"] += "\nshards: {}\n"
    with pytest.raises(AssertionError, match="shards"):
        understands(workload, tmp_path)


def test_the_simulated_provider_understands_its_words() -> None:
    objects = (trial.objects() for trial in TRIALS)
    found = [each for of in objects for each in workloads(of) if each.words[0] == "provider"]
    assert found
    for workload in found:
        words = [word for word in workload.words if not word.startswith("--tls")]
        done = subprocess.run(
            [str(BIGFLEET), *words, "--help"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
