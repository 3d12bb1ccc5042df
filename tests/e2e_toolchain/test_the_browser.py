"""Chromium is found, installed from the distribution's packages, or its absence says what to do."""

import os
import sys
from pathlib import Path

import pytest

from tests.e2e.assets import require_browser
from tests.e2e.browser import NoBrowser, chromium, install
from tests.e2e.setting_up import Progress, set_up_browser

#: An `apt-get` that installs a Chromium beside itself, or fails, and writes its calls down.
APT = """\
#!{python}
import os, sys
here = os.path.dirname(sys.argv[0])
with open(os.path.join(here, "calls"), "a") as calls:
    print(" ".join(sys.argv[1:]), file=calls)
if "install" in sys.argv:
    if os.environ.get("FAKE_FAILS"):
        sys.exit("E: Unable to locate package chromium")
    path = os.path.join(here, "chromium")
    open(path, "w").close()
    os.chmod(path, 0o755)
"""


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of programs; empty."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("BIGFLEET_CHROMIUM", raising=False)
    monkeypatch.delenv("BIGFLEET_REQUIRE_E2E", raising=False)
    return tmp_path


@pytest.fixture
def apt(programs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    program = programs / "apt-get"
    program.write_text(APT.format(python=sys.executable))
    program.chmod(0o755)
    return programs / "calls"


def test_a_browser_is_installed_once(apt: Path, programs: Path) -> None:
    set_up_browser(Progress())
    assert chromium() == programs / "chromium"
    first = apt.read_text()
    assert [line.split()[0] for line in first.splitlines()] == ["update", "install"]
    set_up_browser(Progress())
    assert apt.read_text() == first


def test_what_apt_said_is_told(apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_FAILS", "1")
    with pytest.raises(NoBrowser, match="Unable to locate package chromium"):
        install()


def test_only_root_installs(apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NoBrowser, match="only root may install packages: run `make e2e-setup`"):
        install()
    assert not apt.exists()


def test_a_control_plane_without_a_browser_is_of_use(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_browser(Progress())
    assert "there is no apt-get" in capsys.readouterr().err


def test_a_named_browser_goes_before_an_installed_one(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = programs / "my-chrome"
    named.touch()
    monkeypatch.setenv("BIGFLEET_CHROMIUM", str(named))
    assert chromium() == named


def test_a_test_without_a_browser_skips_or_fails_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(pytest.skip.Exception, match="no browser: run `make e2e-setup`"):
        require_browser()
    monkeypatch.setenv("BIGFLEET_REQUIRE_E2E", "1")
    with pytest.raises(pytest.fail.Exception, match="no browser: run `make e2e-setup`"):
        require_browser()
