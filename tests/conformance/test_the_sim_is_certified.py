"""The simulated provider keeps the whole contract: every profile, nothing skipped."""

from pathlib import Path

import pytest

from tests.conformance.certifying import certificate

SIM = "bigfleet provider run sim --preset conformance"
#: The suite's light setting: half the machines and half the soak.
LIGHT = ("--scale-seed=4000", "--soak=5s")


@pytest.mark.certification
def test_the_sim_is_certified_in_every_profile(tmp_path: Path) -> None:
    found = certificate(["--exec", SIM, "--profile=all", *LIGHT], tmp_path)
    assert found.verdict == "CERTIFIED", found.output
    assert found.skipped == {}


@pytest.mark.certification
def test_the_sim_passes_the_original_assertions_too(tmp_path: Path) -> None:
    rows = "B302,B310,B505,B806,B904,B907,B908,B909,B1102,B1103,TestConformance_LabelShape"
    asked = ["--exec", SIM, "--assertions=original", f"--only={rows}", *LIGHT]
    found = certificate(asked, tmp_path)
    assert (found.failed, found.skipped) == ({}, {}), found.output
