"""How hard generated tests try: some hundred examples by default, thousands every night."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "normal",
    max_examples=300,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("nightly", settings.get_profile("normal"), max_examples=5_000)
settings.load_profile("nightly" if os.environ.get("BIGFLEET_NIGHTLY") == "1" else "normal")
