"""Runs the conformance suite on a provider as anybody would, with one command a lane."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.architecture.tree import ROOT

BIGFLEET = Path(sys.executable).with_name("bigfleet")
LANES = ("core", "fault", "durable")


@dataclass(frozen=True, slots=True)
class Certificate:
    verdict: str
    #: Row -> why it was not judged.
    skipped: dict[str, str]
    #: What the command printed, for whoever reads the failure.
    output: str


def certificate(
    example: str, backend: str, settings: dict[str, dict[str, str]], profile: str, folder: Path
) -> Certificate:
    """`settings` are those of each lane."""
    spec = folder / "lanes.yaml"
    spec.write_text(
        yaml.safe_dump({lane: _lane(example, backend, settings[lane]) for lane in LANES})
    )
    asked = [f"--exec-spec={spec}", f"--profile={profile}", f"--out={folder / 'report'}"]
    words = [str(BIGFLEET), "conformance", *asked]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    assert (folder / "report" / "report.json").exists(), output
    report = json.loads((folder / "report" / "report.json").read_text())
    skipped = {
        row["id"]: row["reason"] for row in report["behaviors"] if row["status"] == "skipped"
    }
    return Certificate(report["verdict"], skipped, output)


def _lane(example: str, backend: str, settings: dict[str, str]) -> dict[str, object]:
    pairs = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    source = ROOT / "examples" / "providers" / example / "src"
    path = os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH", "")]))
    return {
        # No metrics: certifications run side by side, and there is one port 9090.
        "command": [str(BIGFLEET), "provider", "run", backend, "--metrics-addr=", *pairs],
        "env": {"PYTHONPATH": path},
    }
