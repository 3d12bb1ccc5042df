"""Certifications are left out of the ordinary run, so something else must run all of them."""

import re

from tests.architecture.tree import ROOT

MARK = "mark." + "certification"


def test_make_certify_looks_wherever_a_certification_lies() -> None:
    makefile = (ROOT / "Makefile").read_text()
    named = re.search("^CERTIFY := (.*)$", makefile, re.MULTILINE)
    assert named is not None
    looked_at = tuple(f"{folder}/" for folder in named[1].split())
    marked = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("test_*.py")
        if MARK in path.read_text()
    ]
    assert len(marked) >= 4
    assert [path for path in marked if not path.startswith(looked_at)] == []


def test_continuous_integration_certifies_before_it_tests() -> None:
    steps = re.findall("^make .*?([a-z]+)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert steps.index("certify") < steps.index("test")
    assert steps[-1] == "test"
