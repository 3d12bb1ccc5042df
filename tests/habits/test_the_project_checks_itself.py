"""Hooks, hosted CI and `.ci/run` call what exists: tools of the environment and make targets."""

import re
import shlex
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.architecture.tree import ROOT, TESTS, name_of, python_files

HOOKS = {
    hook["id"]: hook
    for repository in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    for hook in repository["hooks"]
}
WORKFLOWS: dict[str, dict[Any, Any]] = {
    path.stem: yaml.safe_load(path.read_text())
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
}
CI = WORKFLOWS["ci"]
#: YAML 1.1 reads `on` as true.
NIGHTLY_TRIGGERS = WORKFLOWS["nightly"][True]
MAKEFILE = (ROOT / "Makefile").read_text()
[FOLDERS] = re.findall(r"^PURE +:= \$\(addprefix tests/,(.*?)\)$", MAKEFILE, re.M | re.S)
#: Folders whose tests `make quick` runs.
PURE = FOLDERS.replace("\\", " ").split()
#: What needs an event loop, a process, a line or a thread.
OUTSIDE = re.compile(
    r"^(async def|(from|import) (asyncio|grpc|multiprocessing|socket|subprocess|threading)\b)", re.M
)
TARGETS = set(re.findall(r"^([a-z0-9-]+):", MAKEFILE, re.MULTILINE))


def made_by(script: str) -> list[str]:
    """The targets of every `make` in a script, in order."""
    lines = [shlex.split(line, comments=True) for line in script.splitlines()]
    return [
        word
        for words in lines
        if words[:1] == ["make"]
        for word in words[1:]
        if not word.startswith("-") and "=" not in word
    ]


IN_CI_RUN = made_by((ROOT / ".ci" / "run").read_text())


def made_in(workflow: dict[Any, Any]) -> list[str]:
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    return [word for step in steps for word in made_by(step.get("run", ""))]


IN_HOSTED_CI = made_in(CI)
IN_NIGHTLY = made_in(WORKFLOWS["nightly"])


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_is_a_tool_of_the_environment(name: str) -> None:
    hook = HOOKS[name]
    folder, _, tool = hook["entry"].split()[0].rpartition("/")
    assert folder == ".venv/bin"
    assert (Path(sysconfig.get_path("scripts")) / tool).exists()
    assert hook["language"] == "system", "another language fetches an environment from elsewhere"


def test_hooks_check_style_format_types_and_contracts() -> None:
    assert set(HOOKS) == {"ruff", "ruff-format", "mypy", "import-contracts"}


def test_a_hook_with_files_gets_those_that_changed() -> None:
    assert HOOKS["mypy"].get("pass_filenames", True)
    assert re.match(HOOKS["mypy"]["files"], "src/bigfleet/model/reasons.py")
    assert re.match(HOOKS["mypy"]["files"], "examples/providers/bare-metal/src/x.py")
    assert not re.match(HOOKS["mypy"]["files"], "deploy/x.py")


@pytest.mark.parametrize("target", sorted({*IN_CI_RUN, *IN_HOSTED_CI, *IN_NIGHTLY}))
def test_what_continuous_integration_makes_is_a_target(target: str) -> None:
    assert target in TARGETS


def test_hosted_ci_makes_what_the_script_makes() -> None:
    """`test` is lint, types, contracts and unit, and `quick` is a part of it."""
    parts = {"lint", "types", "contracts", "unit"}
    assert {*IN_HOSTED_CI} - {"test"} == {*IN_CI_RUN} - parts - {"test", "quick"}
    assert "test" in IN_HOSTED_CI
    assert parts <= {*IN_CI_RUN} or "test" in IN_CI_RUN


def test_style_and_types_come_first_and_tests_last() -> None:
    assert IN_CI_RUN[:2] == ["lint", "types"]
    assert IN_CI_RUN[-1] in ("test", "unit")


def test_the_quick_check_is_made_by_the_script() -> None:
    assert "quick" in IN_CI_RUN


@pytest.mark.parametrize("name", PURE)
def test_a_folder_of_the_quick_check_starts_no_loop_and_no_process(name: str) -> None:
    files = python_files(TESTS / name)
    assert files, f"tests/{name} stands in PURE of the Makefile and does not exist"
    assert [name_of(file) for file in files if OUTSIDE.search(file.read_text())] == []


def test_every_python_that_is_promised_is_tested() -> None:
    tested = CI["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert tested == ["3.11", "3.12", "3.13"]
    project = (ROOT / "pyproject.toml").read_text()
    promised = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)
    assert promised == tested


@pytest.mark.parametrize("name", WORKFLOWS)
def test_hosted_ci_may_only_read(name: str) -> None:
    assert WORKFLOWS[name]["permissions"] == {"contents": "read"}


def test_the_long_runs_are_made_every_night() -> None:
    assert IN_NIGHTLY == ["nightly"]
    [scheduled] = NIGHTLY_TRIGGERS["schedule"]
    minute, hour, *days = scheduled["cron"].split()
    assert minute.isdecimal()
    assert hour.isdecimal()
    assert days == ["*", "*", "*"]


def test_hosted_ci_builds_the_page_and_compares_it_with_what_is_committed() -> None:
    steps = [step.get("run", "") for step in CI["jobs"]["page"]["steps"]]
    assert "cd web && npm run -s build" in steps
    assert steps[-1] == "git diff --exit-code -- src/bigfleet/web/static"
