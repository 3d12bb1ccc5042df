"""Flags made from keys, and the few every configured verb has: --config and --print-config."""

import os
from collections.abc import Callable, Collection
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from bigfleet.cli.contexts import context_file
from bigfleet.cli.output import Output, list_form
from bigfleet.cli.settings.configuration import (
    Configuration,
    Sources,
    config_path,
    loaded,
    meant_by,
)
from bigfleet.cli.settings.keys import Alias, Key, Section, ValueForm
from bigfleet.cli.settings.print_config import settings_bytes
from bigfleet.cli.settings.values import BadValue, text_of, value_of
from bigfleet.cli.terminal import refuse_problems, write_out
from bigfleet.model.errors import BadInput

F = TypeVar("F", bound=Callable[..., Any])
_METAVAR = {
    ValueForm.SWITCH: "BOOL",
    ValueForm.COUNT: "N",
    ValueForm.NUMBER: "NUMBER",
    ValueForm.TEXT: "TEXT",
    ValueForm.DURATION: "DURATION",
    ValueForm.SIZE: "SIZE",
    ValueForm.TEXTS: "TEXT",
    ValueForm.RECORDS: "JSON",
}


_REPEATED = (ValueForm.TEXTS, ValueForm.RECORDS)
#: Where verbs have a setting for how they print, --print-config goes by it as well.
_OUTPUT = "cli.output"
_SHORT = {_OUTPUT: "-o"}
#: The section of verbs that ask a fleet.
_ASKING = "cli"


def configured(
    *sections: Section, without: Collection[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The command gets its Configuration first; what is wrong with it ends the process with 2.

    `without` names keys that have no flag here: they may be said elsewhere, for other verbs.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(config_file: Path | None, print_config: bool, **given: Any) -> None:
            output = given.pop("output", None)
            configuration = _configuration(sections, config_file, given)
            if print_config:
                wanted = Output(output or configuration.settings[_OUTPUT].value)
                write_out(settings_bytes(configuration, wanted))
                return
            command(configuration, **given)

        with_options: Callable[..., None] = run
        for option in reversed(_options(sections, without)):
            with_options = option(with_options)
        return with_options

    return decorate


class _Value(click.ParamType[Any]):
    """Checked while flags are read, so that click names the flag that is wrong."""

    def __init__(self, key: Key) -> None:
        self._key = key
        self.name = _METAVAR[key.shape]
        self.choices = key.choices

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if self._key.shape in _REPEATED:
            return value
        try:
            return value_of(self._key, value)
        except BadValue as problem:
            self.fail(str(problem), param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(c) for c in self._key.choices if c.startswith(incomplete)]


def _options(sections: tuple[Section, ...], without: Collection[str]) -> list[Callable[[Any], Any]]:
    keys = [key for section in sections for key in section.all_keys()]
    options = [_option(key) for key in keys if key.name not in without]
    options += [_alias(alias) for section in sections for alias in section.aliases]
    names = {key.name for key in keys}
    return [
        click.option(
            "--config",
            "config_file",
            type=click.Path(path_type=Path),
            default=None,
            help="YAML or TOML file of settings.  [env: BIGFLEET_CONFIG]",
        ),
        click.option(
            "--print-config", is_flag=True, help="Print every setting with its origin, and end."
        ),
        *([] if _OUTPUT in names else [_how_settings_print]),
        *options,
    ]


_how_settings_print = list_form("How --print-config prints.")


def _option(key: Key) -> Callable[[Any], Any]:
    choices = f" ({', '.join(key.choices)})" if key.choices else ""
    default = text_of(key, key.default) or "none"
    on_reload = "; SIGHUP" if key.reloadable else ""
    help_text = f"{key.help}{choices}.  [default: {default}{on_reload}]"
    return click.option(
        *filter(None, (_SHORT.get(key.name), key.flag)),
        key.parameter,
        type=_Value(key),
        default=None,
        help=help_text[:1].upper() + help_text[1:],
        **_arity(key),
    )


def _arity(key: Key) -> dict[str, Any]:
    """A switch may be named alone, or with a value as existing start scripts write it."""
    if key.shape is ValueForm.SWITCH:
        return {"is_flag": False, "flag_value": "true"}
    return {"multiple": True} if key.shape in _REPEATED else {}


def _alias(alias: Alias) -> Callable[[Any], Any]:
    switch: dict[str, Any] = {"is_flag": False, "flag_value": "true"} if alias.value_of else {}
    return click.option(alias.flag, alias.parameter, default=None, hidden=True, **switch)


def _configuration(
    sections: tuple[Section, ...], config_file: Path | None, given: dict[str, Any]
) -> Configuration:
    environment = dict(os.environ)
    flags = _said(sections, given)
    try:
        file = config_path(config_file, environment)
        sources = Sources(flags, environment, file, _contexts(sections, environment))
        return loaded(sections, sources)
    except BadInput as problem:
        raise refuse_problems(problem) from None


def _contexts(sections: tuple[Section, ...], environment: dict[str, str]) -> Path | None:
    """Only verbs that ask a fleet have one; a process without a home has none either."""
    if not any(section.name == _ASKING for section in sections):
        return None
    try:
        return context_file(environment)
    except BadInput:
        return None


def _said(sections: tuple[Section, ...], given: dict[str, Any]) -> dict[str, tuple[str, Any]]:
    """What the flags of settings say, taken out of `given`; a flag of ours beats its alias."""
    said: dict[str, tuple[str, Any]] = {}
    for section in sections:
        for alias in section.aliases:
            value = given.pop(alias.parameter)
            if value is None:
                continue
            said[f"{section.name}.{alias.key}"] = (alias.flag, meant_by(alias, value))
        for key in section.all_keys():
            value = given.pop(key.parameter, None)
            if value is not None and value != ():
                said[key.name] = (key.flag, value)
    return said
