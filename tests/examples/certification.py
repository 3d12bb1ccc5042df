"""Certifies an example as a user would, with one command a lane."""

import os
from pathlib import Path

import yaml

from tests.architecture.tree import ROOT
from tests.conformance.certifying import BIGFLEET, Certificate, certificate

LANES = ("core", "fault", "durable")


def example_certificate(
    example: str, backend: str, settings: dict[str, dict[str, str]], profile: str, folder: Path
) -> Certificate:
    """`settings` are those of each lane."""
    spec = folder / "lanes.yaml"
    spec.write_text(
        yaml.safe_dump({lane: _lane(example, backend, settings[lane]) for lane in LANES})
    )
    return certificate([f"--exec-spec={spec}", f"--profile={profile}"], folder)


def _lane(example: str, backend: str, settings: dict[str, str]) -> dict[str, object]:
    pairs = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    source = ROOT / "examples" / "providers" / example / "src"
    path = os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH", "")]))
    return {
        # No metrics: another process may be using port 9090.
        "command": [str(BIGFLEET), "provider", "run", backend, "--metrics-addr=", *pairs],
        "env": {"PYTHONPATH": path},
    }
