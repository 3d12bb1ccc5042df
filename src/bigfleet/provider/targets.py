"""Finds the Backend a command line names, and reads its settings."""

import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from bigfleet.model.errors import BadInput, Problem
from bigfleet.provider.backend import Backend
from bigfleet.provider.config import config_of, settings_of

SIM = "bigfleet.provider.sim:SimBackend"


def backend_of(target: str, settings: Mapping[str, Any]) -> Backend:
    """`sim`, or `MODULE:CLASS` looked up from the working folder too."""
    kind = _class_of(SIM if target == "sim" else target)
    backend = kind()
    backend.cfg = config_of(kind.config, settings)
    return backend


def _class_of(target: str) -> type[Backend]:
    module_name, separator, class_name = target.partition(":")
    if not separator or not module_name or not class_name:
        raise BadInput([Problem(target, "name a Backend as MODULE:CLASS, or write sim")])
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError) as error:
        raise BadInput([Problem(target, str(error))]) from None
    if not (isinstance(found, type) and issubclass(found, Backend)):
        raise BadInput(
            [
                Problem(
                    target, "is not a bigfleet.provider.Backend; name a class that inherits from it"
                )
            ]
        )
    return found


def settings_of_file(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        content = yaml.safe_load(path.read_bytes()) or {}
    except (OSError, yaml.YAMLError) as error:
        raise BadInput([Problem(str(path), str(error))]) from None
    if not isinstance(content, dict):
        raise BadInput([Problem(str(path), "write one setting a line, as key: value")])
    return content


def settings_of_words(words: Sequence[str]) -> dict[str, str]:
    """`--key value`, `--key=value`, `--key` for true and `--no-key` for false."""
    settings: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            raise BadInput([Problem(word, "unexpected argument")])
        name, separator, value = word.removeprefix("--").partition("=")
        if not separator:
            if rest and not rest[0].startswith("--"):
                value = rest.pop(0)
            else:
                name, value = _switched(name)
        settings |= settings_of([f"{name.replace('-', '_')}={value}"])
    return settings


def _switched(name: str) -> tuple[str, str]:
    return (name.removeprefix("no-"), "false") if name.startswith("no-") else (name, "true")
