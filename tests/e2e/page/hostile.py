"""Names that would do harm if a page took them for markup, or grow without end."""

import zlib
from typing import Any

#: Sets a mark if it is ever run.
MARKUP = '<img src=x onerror="window.wasRun=1">'
QUOTES = "'\"><svg/onload=window.wasRun=1>${7*7}{{7*7}}"
NUL = "nul\0<script>window.wasRun=1</script>"
LONG = "x" * 200
TURNED = "\u202egnp.tohs\u202e<b>"
NAMES = (MARKUP, QUOTES, NUL, LONG, TURNED)

#: Keys whose values people or clusters choose.
_NAMES = frozenset(
    "cluster clusterId machine machineId shardId needId providerName nodeName zone instanceType"
    " group owner subject topologyKey topologyValue ref name title pod team chain".split()
)
_TEXTS = frozenset("sentence text what reason lastError detail error about".split())
#: Keys below which the keys are names.
_BY_NAME = frozenset("byCluster labels perShard inUse facts".split())
#: Which the page must understand.
_KEPT = frozenset({"/status"})


def hostile_name(name: str) -> str:
    """The same for the same name, so that what belongs together still does."""
    return NAMES[zlib.crc32(name.encode()) % len(NAMES)] + name


def hostile(path: str, body: Any) -> Any:
    return body if path in _KEPT else _spoilt("", body)


def _spoilt(key: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_spoilt(key, each) for each in value]
    if isinstance(value, dict):
        if key in _BY_NAME:
            return {hostile_name(name): _spoilt("", each) for name, each in value.items()}
        return {name: _spoilt(name, each) for name, each in value.items()}
    if isinstance(value, str) and key == "id" and not value.startswith("action/"):
        return hostile_name(value)
    if isinstance(value, str) and value and key in _NAMES:
        return hostile_name(value)
    if isinstance(value, str) and key in _TEXTS:
        return f"{value} {MARKUP} {LONG}"
    return value
