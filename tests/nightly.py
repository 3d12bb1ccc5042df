"""Whether this is a long run (`make nightly`): more seeds, larger sizes, tests marked `nightly`."""

import os

IS_NIGHTLY = os.environ.get("BIGFLEET_NIGHTLY") == "1"
