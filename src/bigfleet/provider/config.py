"""An author's settings: a plain class of typed fields, filled from `--set` and YAML."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from bigfleet.model.errors import BadInput, Problem


class Secret(str):
    """Text that never shows itself: printing it gives dots."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Secret(...)"

    def reveal(self) -> str:
        return str.__str__(self)


class Config(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Base of an author's settings."""


C = TypeVar("C", bound=Config)


def config_of(kind: type[C], settings: Mapping[str, Any]) -> C:
    """Checks `settings` against the author's class; text is read as the field's type."""

    def decoded(wanted: type, value: Any) -> Any:
        if issubclass(wanted, Secret):
            return Secret(value)
        if issubclass(wanted, Path):
            return Path(value)
        raise TypeError(f"no way to make a {wanted.__name__} from a setting")

    if problems := _misnamed(kind, settings):
        raise BadInput(problems)
    try:
        return msgspec.convert(dict(settings), kind, strict=False, dec_hook=decoded)
    except msgspec.ValidationError as error:
        text, _, where = str(error).partition(" - at `$.")
        raise BadInput([Problem(where.rstrip("`") or "config", text)]) from None


def _misnamed(kind: type[Config], settings: Mapping[str, Any]) -> list[Problem]:
    """Settings that are missing, and unknown settings."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    known = ", ".join(fields) or "none"
    unknown = [Problem(name, f"no such setting; there are: {known}") for name in settings]
    return [problem for problem in unknown if problem.path not in fields] + [
        Problem(name, f"the setting is missing: --set {name}=VALUE or --set {name}=@FILE")
        for name, field in fields.items()
        if field.required and name not in settings
    ]


def settings_of(pairs: Iterable[str]) -> dict[str, str]:
    """`key=value` pairs; `key=@file` takes the value from a file, without its last newline."""
    settings = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise BadInput([Problem(pair, "write a setting as key=value or key=@file")])
        if value.startswith("@"):
            try:
                value = Path(value[1:]).read_text().removesuffix("\n")
            except OSError as error:
                raise BadInput([Problem(key, f"cannot read {value[1:]}: {error}")]) from None
        settings[key] = value
    return settings
