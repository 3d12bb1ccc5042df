"""Runs the conformance suite on a provider by its command, and reads the report it leaves."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

BIGFLEET = Path(sys.executable).with_name("bigfleet")
#: A busy machine boots slowly, and the timeout that B1006 waits out need not be half a minute.
TEMPO = ("--boot-timeout=90s", "--cut-off=10s")


@dataclass(frozen=True, slots=True)
class Certificate:
    verdict: str
    #: Row -> why it did not pass.
    skipped: dict[str, str]
    failed: dict[str, str]
    #: What the command printed: shown with a failure.
    output: str


def certificate(asked: list[str], folder: Path) -> Certificate:
    words = [str(BIGFLEET), "conformance", *TEMPO, *asked, f"--out={folder / 'report'}"]
    # As after `source .venv/bin/activate`: `bigfleet provider run ...` is found.
    path = os.pathsep.join((str(BIGFLEET.parent), os.environ["PATH"]))
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path}
    )
    output = done.stdout + done.stderr
    assert (folder / "report" / "report.json").exists(), output
    report = json.loads((folder / "report" / "report.json").read_text())
    rows = [*report["behaviors"], *report["baseline_tests"]]
    return Certificate(
        report["verdict"],
        {row["id"]: row["reason"] for row in rows if row["status"] == "skipped"},
        {row["id"]: row["reason"] for row in rows if row["status"] == "failed"},
        output,
    )
