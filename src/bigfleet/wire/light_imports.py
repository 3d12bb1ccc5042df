"""Keeps protobuf's pure-Python messages unloaded where its C implementation is used.

Generated modules import them through protobuf's own modules and never use them, which takes a fifth
of the time a command needs to start. A module that stands in for them loads them on first use.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

_UNUSED = "google.protobuf.internal.python_message"


class _LoadedLate(ModuleType):
    def __getattr__(self, name: str) -> Any:
        """Called for what is not there yet; tools that look at every module ask for `__names__`."""
        if name.startswith("__"):
            raise AttributeError(name)
        sys.modules.pop(_UNUSED, None)
        real = import_module(_UNUSED)
        self.__dict__.update(vars(real))
        return getattr(real, name)


def load_python_messages_late() -> None:
    """To be called before the first generated module is imported; later it changes nothing."""
    sys.modules.setdefault(_UNUSED, _LoadedLate(_UNUSED))
