"""Every effective setting with where it came from."""

import json

from bigfleet.cli.settings.loading import Configuration
from bigfleet.cli.settings.values import text_of

_HEAD = ("KEY", "VALUE", "ORIGIN", "SIGHUP")


def as_table(configuration: Configuration) -> bytes:
    """Values are written as a config file would hold them."""
    rows = [_HEAD]
    for name, setting in configuration.settings.items():
        value = text_of(setting.key, setting.value) or '""'
        rows.append((name, value, setting.origin, "yes" if setting.key.reloadable else ""))
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return ("\n".join(lines) + "\n").encode()


def as_json(configuration: Configuration) -> bytes:
    """Durations are seconds, sizes are bytes."""
    document = {
        name: {
            "value": setting.value,
            "origin": setting.origin,
            "reloadable": setting.key.reloadable,
        }
        for name, setting in configuration.settings.items()
    }
    return (json.dumps(document, indent=2) + "\n").encode()
