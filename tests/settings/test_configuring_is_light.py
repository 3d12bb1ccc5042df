"""Flags and help need nothing heavy: neither the engine nor the wire, no YAML and no log."""

import subprocess
import sys


def test_the_settings_of_the_shard_load_nothing_heavy() -> None:
    heavy = "{'numba', 'numpy', 'grpc', 'rich', 'yaml', 'structlog', 'cryptography'}"
    modules = "bigfleet.cli.settings.options, bigfleet.cli.settings.sections, bigfleet.cli.certs"
    code = f"import sys, {modules}; print(sorted({heavy} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (loaded.stdout.strip(), loaded.stderr) == ("[]", "")
