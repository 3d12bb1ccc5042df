"""`make e2e-setup`: builds what the rig needs and does not have, once, into the cache; installs the
browser of the page's tests.

Programs are built from the Go modules under toolchain/, whose go.sum pins every content by its
hash: no checksum database is asked. A piece appears in the cache by a rename, whole or not at all,
and of two set-ups started together one waits for the other and finds everything done.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from tests.e2e import browser
from tests.e2e.assets import found, missing
from tests.e2e.pins import (
    BINARIES,
    BUILD_WORDS,
    CRDS,
    DEFINITIONS,
    NAMES,
    Source,
    cache_folder,
    source_of,
    version_of,
)

#: Between two signs of life of a long build.
_SIGN_OF_LIFE_SECONDS = 60.0


class NotSetUp(Exception):
    """What is missing and what to do about it."""


class Progress:
    """Lines that say how long it has been."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        click.echo(f"[{time.monotonic() - self._began:6.1f} s] {text}", err=True)


def set_up_browser(progress: Progress) -> None:
    """Where it cannot be installed the control plane is of use all the same."""
    if browser.chromium() is not None:
        return
    progress.say(f"installing {browser.PACKAGE} from the distribution's packages")
    try:
        browser.install()
    except browser.NoBrowser as problem:
        progress.say(str(problem))


def set_up(progress: Progress) -> None:
    """Returns once nothing of the control plane is missing."""
    if not missing():
        return
    with _alone(progress):
        for source in (*BINARIES, CRDS):
            if names := [name for name in missing() if source_of(name) == source]:
                _go(source)
                _make(source, names, progress)


def _make(source: Source, names: Sequence[str], progress: Progress) -> None:
    what = f"{', '.join(names)} of {source.module} {source.version}"
    cache_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_folder(), prefix=".making-") as folder:
        if source == CRDS:
            progress.say(f"fetching {what}")
            _fetch(Path(folder), names)
        else:
            progress.say(f"building {what} with {_go(source)}")
            _build(source, Path(folder), names, progress)
        source.place.mkdir(exist_ok=True)
        for name in names:
            (Path(folder) / name).rename(source.place / name)
    progress.say(f"made {what}")


def _build(source: Source, folder: Path, names: Sequence[str], progress: Progress) -> None:
    """All programs of a source that share a version, at once: they share most of their packages."""
    said = BINARIES[source][names[0]].said_version
    told = [word for name, value in said.items() for word in ("-X", f"{name}={value}")]
    for group in _apart(source, names):
        output = folder / group[0] if len(group) == 1 else folder
        words = ["go", "build", *BUILD_WORDS, "-ldflags", " ".join(["-s", "-w", *told])]
        words += ["-o", f"{output}{os.sep if len(group) > 1 else ''}"]
        words += [BINARIES[source][name].package for name in group]
        _run(source, words, progress)


def _apart(source: Source, names: Sequence[str]) -> list[list[str]]:
    """A program whose package is not called like it must be built alone, to be named."""
    packages = {name: BINARIES[source][name].package for name in names}
    alike = [name for name, package in packages.items() if package.endswith(f"/{name}")]
    return [*([alike] if alike else []), *([name] for name in names if name not in alike)]


def _fetch(folder: Path, names: Sequence[str]) -> None:
    modules = sorted({DEFINITIONS[name].module for name in names})
    asked = [f"{module}@{CRDS.version_of(module)}" for module in modules]
    told = _run(CRDS, ["go", "mod", "download", "-json", *asked])
    places = {}
    pinned = set((CRDS.folder / "go.sum").read_text().splitlines())
    for module in _objects(told):
        line = f"{module['Path']} {module['Version']} {module['Sum']}"
        if line not in pinned:
            raise NotSetUp(f"{line} is not in toolchain/crds/go.sum: its contents have changed")
        places[module["Path"]] = Path(module["Dir"])
    for name in names:
        of = DEFINITIONS[name]
        shutil.copyfile(places[of.module] / of.path, folder / name)


def _objects(text: str) -> Iterator[dict[str, str]]:
    """JSON objects one after another, as `go` prints them."""
    decoder = json.JSONDecoder()
    while text := text.lstrip():
        value, end = decoder.raw_decode(text)
        yield value
        text = text[end:]


def _run(source: Source, words: Sequence[str], progress: Progress | None = None) -> str:
    process = subprocess.Popen(
        words,
        cwd=source.folder,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    out, errors = _outcome(process, source, progress)
    if process.returncode != 0:
        told = errors.strip()[-2000:] or out.strip()[-2000:]
        raise NotSetUp(
            f"`{' '.join(words[:3])}` in tests/e2e/toolchain/{source.name} failed:\n{told}\n"
            "If the module proxy cannot be reached, set GOPROXY to one that can, or put the "
            "programs into a folder and name it in KUBEBUILDER_ASSETS."
        )
    return out


def _outcome(
    process: "subprocess.Popen[str]", source: Source, progress: Progress | None
) -> tuple[str, str]:
    while True:
        try:
            return process.communicate(timeout=_SIGN_OF_LIFE_SECONDS)
        except subprocess.TimeoutExpired:
            if progress is not None:
                progress.say(f"still building from {source.module}")


def _environment() -> dict[str, str]:
    """go.sum alone decides what contents are right; the Go at hand builds, and fetches no other."""
    own = {
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly",
        "GOSUMDB": "off",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }
    return {**os.environ, **own}


def _go(source: Source) -> str:
    program = shutil.which("go")
    if program is None:
        absent = ", ".join(missing())
        raise NotSetUp(
            f"the e2e stand lacks {absent}, and there is no Go to build them with. Install Go "
            f"{source.go} or later, or put the programs into a folder and name it in "
            "KUBEBUILDER_ASSETS."
        )
    told = subprocess.run(
        [program, "env", "GOVERSION"], env=_environment(), capture_output=True, text=True
    )
    version = told.stdout.strip().split()[0] if told.stdout.strip() else ""
    if _numbers(version.removeprefix("go")) < _numbers(source.go):
        raise NotSetUp(
            f"{source.module} {source.version} needs Go {source.go} or later; {program} is "
            f"{version or 'broken: ' + told.stderr.strip()}"
        )
    return version


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:3] if part.isdigit())


@contextmanager
def _alone(progress: Progress) -> Iterator[None]:
    cache_folder().mkdir(parents=True, exist_ok=True)
    with (cache_folder() / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say(f"another set-up fills {cache_folder()}: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@click.command(help="Build the control plane of the e2e tests into a cache, and install a browser.")
def main() -> None:
    progress = Progress()
    try:
        set_up(progress)
        set_up_browser(progress)
    except NotSetUp as problem:
        click.echo(f"e2e-setup: {problem}", err=True)
        sys.exit(1)
    for name in NAMES:
        click.echo(f"{name:25} {version_of(name):9} {found(name)}")
    click.echo(f"{browser.PACKAGE:25} {'':9} {browser.chromium() or 'missing'}")


if __name__ == "__main__":
    main()
