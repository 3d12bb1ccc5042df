"""Where a program or a third party's CRD of the rig lies; nothing is made here.

First the folder of `KUBEBUILDER_ASSETS`, then the cache that `make e2e-setup` fills. A test that
needs what is in neither skips and says so; under `BIGFLEET_REQUIRE_E2E=1` it fails.
"""

import os
from pathlib import Path
from typing import NoReturn

import pytest

from tests.e2e import browser
from tests.e2e.pins import NAMES, source_of

REMEDY = "run `make e2e-setup` (it needs Go and a module proxy), or set KUBEBUILDER_ASSETS"


def found(name: str) -> Path | None:
    """None: neither given nor built yet."""
    assert name in NAMES, f"the rig knows no {name!r}: it has {', '.join(NAMES)}"
    places = [source_of(name).place / name]
    if given := os.environ.get("KUBEBUILDER_ASSETS"):
        places.insert(0, Path(given) / name)
    return next((path for path in places if path.is_file()), None)


def missing(*names: str) -> list[str]:
    return [name for name in names or NAMES if found(name) is None]


def require(name: str) -> Path:
    """For a test: the file, or the test ends here."""
    return found(name) or end_test(f"the e2e stand lacks {name}: {REMEDY}")


def require_browser() -> Path:
    """For a test: Chromium, or the test ends here."""
    return browser.chromium() or end_test(f"there is no browser: {browser.REMEDY}")


def end_test(text: str) -> NoReturn:
    if os.environ.get("BIGFLEET_REQUIRE_E2E") == "1":
        pytest.fail(text, pytrace=False)
    pytest.skip(text)
