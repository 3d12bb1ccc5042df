"""How hard generated tests try, and that no test finds or writes the context file of a person."""

import atexit
import gc
import os
import shutil
import tempfile

from hypothesis import HealthCheck, settings

#: For every process a test starts, too.
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="bigfleet-tests-")
atexit.register(shutil.rmtree, os.environ["XDG_CONFIG_HOME"], ignore_errors=True)

# What collection makes stays until the end: the collector need not look through it again.
gc.disable()


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
settings.load_profile("nightly" if os.environ.get("BIGFLEET_NIGHTLY") == "1" else "normal")
