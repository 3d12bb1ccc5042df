"""Everything the compiler has in hand: found by walking our packages, not by who claims it."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import bigfleet
import bigfleet.engine
import bigfleet.wire


def all_modules() -> Iterator[str]:
    for package in (bigfleet.engine, bigfleet.wire):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield found.name


def dispatchers() -> dict[str, Any]:
    """By the module and name of the function they are made of."""
    found: dict[str, Any] = {}
    for name in all_modules():
        for each in vars(importlib.import_module(name)).values():
            if hasattr(each, "py_func") and hasattr(each, "signatures"):
                found[f"{each.py_func.__module__}.{each.py_func.__name__}"] = each
    return found


def is_cached(dispatcher: Any) -> bool:
    """Python calls only those: the others are part of their code."""
    return bool(dispatcher.targetoptions.get("no_cpython_wrapper")) is False and (
        dispatcher.targetoptions.get("inline", "never") == "never"
    )


def compiled_types() -> dict[str, list[str]]:
    return {name: sorted(map(str, each.signatures)) for name, each in dispatchers().items()}
