"""`bigfleet completion`: the script that teaches a shell the verbs and flags."""

import click
from click.shell_completion import get_completion_class


@click.command(no_args_is_help=True)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a completion script for your shell.

    \b
    Examples:
      bigfleet completion bash > ~/.local/share/bash-completion/completions/bigfleet
      bigfleet completion zsh  > "${fpath[1]}/_bigfleet"
      bigfleet completion fish > ~/.config/fish/completions/bigfleet.fish
    """
    from bigfleet.cli.main import cli

    script = get_completion_class(shell)
    if script is None:
        raise click.UsageError(f"no completion for {shell}")
    click.echo(script(cli, {}, "bigfleet", "_BIGFLEET_COMPLETE").source())
