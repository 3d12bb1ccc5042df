"""How hard generated tests try, and that no test finds or writes the context file of a person."""

import atexit
import gc
import os
import shutil
import tempfile

import pytest
from hypothesis import HealthCheck, settings

from tests.nightly import IS_NIGHTLY

#: For every process a test starts, too.
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="bigfleet-tests-")
atexit.register(shutil.rmtree, os.environ["XDG_CONFIG_HOME"], ignore_errors=True)

# What collection makes stays until the end: the collector need not look through it again.
gc.disable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`pytest.mark.nightly(why)`: only in a long run."""
    for item in items:
        if not IS_NIGHTLY and (mark := item.get_closest_marker("nightly")):
            item.add_marker(pytest.mark.skip(reason=f"{mark.args[0]}: run `make nightly`"))


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


settings.register_profile(
    "normal",
    max_examples=200,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("nightly", settings.get_profile("normal"), max_examples=5_000)
settings.load_profile("nightly" if IS_NIGHTLY else "normal")
