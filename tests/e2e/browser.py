"""The browser of the page's tests: Debian's Chromium, which `make e2e-setup` installs.

`BIGFLEET_CHROMIUM` names another program. A test that needs a browser where there is none skips and
says so; under `BIGFLEET_REQUIRE_E2E=1` it fails.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

PACKAGE = "chromium"
#: As the distributions call it.
PROGRAMS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
#: No sandbox: containers and root have none. The rest would call hosts that no test may call.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
REMEDY = f"run `make e2e-setup` as root, install {PACKAGE}, or name one in BIGFLEET_CHROMIUM"


class NoBrowser(Exception):
    """Why none could be installed, and what to do."""


def chromium() -> Path | None:
    """None: neither named nor installed."""
    if named := os.environ.get("BIGFLEET_CHROMIUM"):
        return Path(named) if Path(named).is_file() else None
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    return Path(found) if found else None


def install() -> None:
    """From the distribution's packages; raises NoBrowser."""
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        why = "there is no apt-get" if apt is None else "only root may install packages"
        raise NoBrowser(f"the page's tests lack a browser, and {why}: {REMEDY}")
    quiet: Mapping[str, str] = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (
        [apt, "update", "-qq"],
        [apt, "install", "-y", "-qq", "--no-install-recommends", PACKAGE, "fonts-dejavu-core"],
    ):
        done = subprocess.run(words, env=quiet, capture_output=True, text=True)
        if done.returncode != 0:
            said = done.stderr.strip()[-1000:]
            raise NoBrowser(f"`{' '.join(words[1:3])}` failed: {said}\n{REMEDY}")
