"""Tries what a release consists of: `make release` runs this on the wheel and the sdist it built.

The wheel is installed with the locked runtime packages into an empty environment outside the
repository, and is started there in an empty folder, as the first user of a release would.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import click

from bigfleet import __version__
from bigfleet.model.regret import HOW_TO_ENABLE
from tests.architecture.tree import ROOT

FLEET = ROOT / "examples" / "fleets" / "priority-inversion.yaml"
#: What a source release must hold beside the package.
IN_SDIST = ("Makefile", "LICENSE", "CHANGELOG.md", "docs/cli.md", "tests/conftest.py", "mkdocs.yml")


class TrialFailed(Exception):
    """A sentence about the release that is not as it should be."""


def tried(dist: Path, place: Path) -> None:
    wheel = _only(dist, f"bigfleet-{__version__}-py3-none-any.whl")
    sdist = _only(dist, f"bigfleet-{__version__}.tar.gz")
    check_sdist(sdist)
    _told("the sdist makes the same wheel", lambda: _same_wheel(sdist, wheel, place / "sdist"))
    environment = place / "env"
    _told("the wheel installs with the runtime lock", lambda: _install(wheel, environment))
    user = User(environment, place)
    _told("it says its version", user.says_its_version)
    _told("bigfleet plan", user.plans)
    _told("it says how to add what an extra installs", user.is_told_of_the_extra)
    _told("bigfleet up --headless --for 20s --assert", user.sees_a_fleet)


def check_sdist(sdist: Path) -> None:
    top = sdist.name.removesuffix(".tar.gz")
    with tarfile.open(sdist) as archive:
        names = set(archive.getnames())
    missing = [name for name in IN_SDIST if f"{top}/{name}" not in names]
    if missing:
        raise TrialFailed(f"{sdist.name} lacks {', '.join(missing)}")


def contents_of(wheel: Path) -> dict[str, str]:
    """Digests by name; the list of files in the wheel itself names the others again."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def why_not_same(left: dict[str, str], right: dict[str, str]) -> str:
    """Empty: they are."""
    other = {name for name in left.keys() | right.keys() if left.get(name) != right.get(name)}
    named = ", ".join(sorted(other)[:5])
    return f"{len(other)} files differ: {named}" if other else ""


def _same_wheel(sdist: Path, wheel: Path, place: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(place, filter="data")
    (source,) = place.iterdir()
    _run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)], source)
    if why := why_not_same(contents_of(place / wheel.name), contents_of(wheel)):
        raise TrialFailed(f"the wheel made from {sdist.name} is not {wheel.name}: {why}")


def _install(wheel: Path, environment: Path) -> None:
    uv = str(Path(sys.executable).with_name("uv"))
    _run([sys.executable, "-m", "venv", "--without-pip", str(environment)], environment.parent)
    into = [uv, "pip", "install", "--quiet", "--python", str(environment / "bin" / "python")]
    lock = ROOT / "requirements" / "runtime.txt"
    _run([*into, "--require-hashes", "-r", str(lock)], environment.parent)
    _run([*into, "--no-deps", "--no-index", str(wheel)], environment.parent)


class User:
    """Has nothing but the release: another home, an empty folder, none of our variables."""

    def __init__(self, environment: Path, place: Path) -> None:
        self._bin = environment / "bin"
        self._folder = place / "folder"
        self._home = place / "home"
        self._folder.mkdir()
        self._home.mkdir()

    def says_its_version(self) -> None:
        said = self._runs("bigfleet", "--version").strip()
        if said != f"bigfleet {__version__}":
            raise TrialFailed(f"bigfleet --version says {said!r}, not bigfleet {__version__}")
        where = self._runs("python", "-c", "import bigfleet; print(bigfleet.__file__)").strip()
        if not Path(where).is_relative_to(self._bin.parent):
            raise TrialFailed(f"the package comes from {where}, not from the wheel")

    def plans(self) -> None:
        said = self._runs("bigfleet", "plan", self._fleet())
        if "preempt" not in said.lower():
            raise TrialFailed(f"bigfleet plan of {FLEET.name} shows no preemption:\n{said}")

    def is_told_of_the_extra(self) -> None:
        """The runtime lock holds no extra: the regret meter has no solver."""
        said = self._runs("bigfleet", "reports", "regret", "--fleet", self._fleet(), ends_with=5)
        if HOW_TO_ENABLE not in said:
            raise TrialFailed(f"bigfleet reports regret does not say how to enable it:\n{said}")

    def sees_a_fleet(self) -> None:
        said = self._runs("bigfleet", "up", "--headless", "--for", "20s", "--assert")
        click.echo("\n".join(f"    {line}" for line in said.splitlines()[-3:]))
        if left := [path.name for path in self._folder.iterdir()]:
            raise TrialFailed(f"bigfleet up left {', '.join(left)} in the folder it ran in")

    def _fleet(self) -> str:
        return shutil.copyfile(FLEET, str(self._home / FLEET.name))

    def _runs(self, program: str, *words: str, ends_with: int = 0) -> str:
        ours = {"PATH": f"{self._bin}:{os.defpath}", "HOME": str(self._home), "NO_COLOR": "1"}
        return _run([str(self._bin / program), *words], self._folder, ours, ends_with)


def _run(
    words: list[str], folder: Path, variables: dict[str, str] | None = None, ends_with: int = 0
) -> str:
    """What it said; of a program that is to fail with what it said to standard error."""
    ended = subprocess.run(
        words, cwd=folder, env=variables, capture_output=True, text=True, timeout=600, check=False
    )
    said = f"{ended.stdout}{ended.stderr}".strip()
    if ended.returncode != ends_with:
        raise TrialFailed(f"{' '.join(words)} ended with {ended.returncode}:\n{said}")
    return said if ends_with else ended.stdout


def _only(dist: Path, name: str) -> Path:
    found = sorted(path.name for path in dist.iterdir())
    if name not in found:
        raise TrialFailed(f"{dist} holds {', '.join(found) or 'nothing'}, and not {name}")
    return dist / name


def _told(what: str, step: Callable[[], None]) -> None:
    began = time.perf_counter()
    step()
    click.echo(f"  {what}: {time.perf_counter() - began:.1f} s")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="bigfleet-release-") as place:
        try:
            tried(Path(sys.argv[1]).resolve(), Path(place))
        except TrialFailed as problem:
            sys.exit(f"The release does not work: {problem}")


if __name__ == "__main__":
    main()
