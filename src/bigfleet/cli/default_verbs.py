"""Groups of verbs of which one is meant where none is named: `machines` means `machines list`.

The flags of that verb may stand before the name of another one too. Help shows the flags of the
default verb, and a shell completes them.
"""

import click
from click.shell_completion import CompletionItem

from bigfleet.cli.suggestions import no_such_verb


class DefaultVerb(click.Group):
    """`default` is the name of the verb that is meant."""

    default = "list"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = set(ctx.help_option_names)
        # Completing an empty line offers the verbs.
        if not (args and args[0] in own) and not (ctx.resilient_parsing and not args):
            args = self._with_verb(ctx, args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with self._of_default(ctx) as inner:
            click.Command.format_options(inner.command, inner, formatter)
        self.format_commands(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = super().shell_complete(ctx, incomplete)
        with self._of_default(ctx) as inner:
            found += inner.command.shell_complete(inner, incomplete)
            for param in inner.command.params:
                if isinstance(param, click.Argument):
                    found += param.shell_complete(inner, incomplete)
        return list({item.value: item for item in found}.values())

    def _with_verb(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The verb first, wherever it stood among the flags.

        A word that is neither a verb nor something the default verb takes is refused.
        """
        place = self._first_word(args)
        if place is not None and args[place] in self.commands:
            return [args[place], *args[:place], *args[place + 1 :]]
        lenient = ctx.resilient_parsing or self._default_takes_words()
        if place is not None and not lenient:
            raise no_such_verb(args[place], self.commands, ctx)
        return [self.default, *args]

    def _default_takes_words(self) -> bool:
        params = self.commands[self.default].params
        return any(isinstance(param, click.Argument) for param in params)

    def _first_word(self, args: list[str]) -> int | None:
        takes_value = {
            name
            for param in self.commands[self.default].params
            if isinstance(param, click.Option) and not param.is_flag
            for name in param.opts
        }
        place = 0
        while place < len(args):
            if not args[place].startswith("-"):
                return place
            place += 2 if args[place] in takes_value else 1
        return None

    def _of_default(self, ctx: click.Context) -> click.Context:
        verb = self.commands[self.default]
        return click.Context(verb, info_name=self.default, parent=ctx, resilient_parsing=True)
