"""`bigfleet provider machines|ops|fences|failed|describe|state`: a running provider, looked into.

Every verb speaks ProviderAdmin on the provider's port. Those that write need a reason.
"""

import os
from pathlib import Path
from typing import Any

import click

from bigfleet.cli.connections import audited, login_name
from bigfleet.cli.output import Output, current_output
from bigfleet.cli.provider_lines import answer_to, provider_list, provider_verb, tls_in
from bigfleet.cli.terminal import plain, write_out

_PATH = click.Path(path_type=Path)
#: Headings of each list, and the fields of an answer below them.
_MACHINE_COLUMNS = {
    "ID": "id",
    "STATE": "state",
    "TYPE": "instanceType",
    "ZONE": "zone",
    "CAPACITY": "capacityType",
    "$/H": "pricePerHour",
    "HOST": "host",
    "CLUSTER": "cluster",
    "SHARD": "shard",
}
_OPERATION_COLUMNS = {
    "OPERATION": "id",
    "MACHINE": "machine",
    "KIND": "kind",
    "SHARD": "shard",
    "ATTEMPT": "attempt",
    "OUTCOME": "outcome",
    "REASON": "reason",
    "ACCEPTED": "acceptedAt",
    "NOTE": "note",
}
_FENCE_COLUMNS = {"SHARD": "shard", "MACHINE": "machine", "EPOCH": "epoch", "SEQUENCE": "sequence"}
_FAILED_COLUMNS = {
    "ID": "id",
    "SINCE": "failedAt",
    "TRIES": "heals",
    "HOST": "host",
    "ERROR": "lastError",
}


def _asked(verb: str, flags: dict[str, Any], **arguments: Any) -> tuple[dict[str, Any], bytes]:
    """The provider's answer."""
    from bigfleet.wire.provider_admin import ProviderAdminClient, Verb

    tls = tls_in(flags)
    if "reason" in flags:
        owner = flags["owner"] or login_name()
        arguments |= {"owner": owner, "reason": flags["reason"]}

    async def ask() -> tuple[dict[str, Any], bytes]:
        async with ProviderAdminClient(flags["addr"], tls) as client:
            answer = await client.do(Verb(verb), arguments)
            return answer.answer, answer.content

    return answer_to(ask())


def _show(answer: dict[str, Any], columns: dict[str, str], kind: str) -> None:
    """The items of an answer by their fields; JSON is the provider's answer as it came."""
    from bigfleet.cli.listings import Column, Listing, show_listing
    from bigfleet.cli.tables import Page, document_bytes

    def column(name: str, key: str) -> Column[dict[str, Any]]:
        return Column(name, lambda item: item.get(key))

    listing = Listing(
        columns=[column(*each) for each in columns.items()],
        rows=answer["items"],
        document=lambda item: item,
        name=lambda item: f"{kind}/{item.get(next(iter(columns.values())))}",
    )
    output = current_output()
    rows = listing.sorted_by(output.sort_by) if output.sort_by else listing.rows
    if output.is_document:
        write_out(document_bytes({**answer, "items": rows}, output))
        return
    page = Page.on_stdout("auto")
    show_listing(page, listing, rows)
    page.write()


def _say(answer: dict[str, Any], flags: dict[str, Any], sentence: str) -> None:
    """The sentence for people, the provider's answer for programs."""
    output = Output(flags["output"])
    if output.is_document:
        from bigfleet.cli.tables import document_bytes

        write_out(document_bytes(answer, output))
    else:
        click.echo(plain(sentence))


@click.command()
@click.argument("machine_id", required=False, default="")
@click.option("--state", default="", help="Only machines of this state, such as Idle.")
@click.option("--limit", default=0, help="0: all.")
@provider_list(_MACHINE_COLUMNS)
def machines(machine_id: str, state: str, limit: int, **flags: Any) -> None:
    """What the provider knows about its machines."""
    answer, _ = _asked("machines", flags, machine_id=machine_id, state=state, limit=limit)
    _show(answer, _MACHINE_COLUMNS, "machine")


@click.command()
@click.argument("machine_id", required=False, default="")
@click.option("--running", is_flag=True, help="Only what is still under way.")
@click.option("--limit", default=100, show_default=True)
@provider_list(_OPERATION_COLUMNS)
def ops(machine_id: str, running: bool, limit: int, **flags: Any) -> None:
    """The operations of the last seven days, newest first."""
    answer, _ = _asked("ops", flags, machine_id=machine_id, running=running, limit=limit)
    _show(answer, _OPERATION_COLUMNS, "operation")


@click.group(invoke_without_command=True)
@click.option("--shard", "shard_id", default="")
@click.option("--machine", "machine_id", default="")
@click.option("--limit", default=0, help="0: all.")
@provider_list(_FENCE_COLUMNS)
@click.pass_context
def fences(ctx: click.Context, /, shard_id: str, machine_id: str, limit: int, **flags: Any) -> None:
    """The highest token each shard has used on each machine."""
    if ctx.invoked_subcommand is not None:
        return
    answer, _ = _asked("fences", flags, shard_id=shard_id, machine_id=machine_id, limit=limit)
    _show(answer, _FENCE_COLUMNS, "fence")


@fences.command("prune")
@click.option("--shard", "shard_id", required=True)
@audited
@provider_verb
def prune_fences(shard_id: str, **flags: Any) -> None:
    """Forget the marks of a shard that will never come back."""
    answer, _ = _asked("fences prune", flags, shard_id=shard_id)
    _say(answer, flags, f"{answer['pruned']} marks of {shard_id} forgotten")


@click.group(invoke_without_command=True)
@click.option("--limit", default=0, help="0: all.")
@provider_list(_FAILED_COLUMNS)
@click.pass_context
def failed(ctx: click.Context, /, limit: int, **flags: Any) -> None:
    """Machines in FAILED, and why."""
    if ctx.invoked_subcommand is not None:
        return
    answer, _ = _asked("failed", flags, limit=limit)
    _show(answer, _FAILED_COLUMNS, "machine")


def _on_failed(name: str, text: str) -> click.Command:
    @click.command(name, help=text)
    @click.argument("machine_id")
    @audited
    @provider_verb
    def command(machine_id: str, **flags: Any) -> None:
        answer, _ = _asked(f"failed {name}", flags, machine_id=machine_id)
        _say(answer, flags, f"{machine_id} is now {answer['now']}")

    return command


failed.add_command(_on_failed("repair", "Run the healer now."))
failed.add_command(_on_failed("adopt", "Trust the host: the machine is Idle."))
failed.add_command(_on_failed("forget", "Give the host up: the machine is a slot."))


@click.group()
def describe() -> None:
    """What the provider thinks of its substrate."""


@describe.command("accept")
@audited
@provider_verb
def accept_describe(**flags: Any) -> None:
    """Believe a quarantined describe: the missing hosts are really gone."""
    answer, _ = _asked("describe accept", flags)
    _say(answer, flags, "accepted" if answer["quarantined"] else "nothing was quarantined")


@click.group()
def state() -> None:
    """The provider's state file."""


@state.command("backup")
@click.argument("file", type=_PATH)
@provider_verb
def backup(file: Path, **flags: Any) -> None:
    """A consistent copy while the provider runs."""
    answer, content = _asked("state backup", flags)
    _write_private(file, content)
    said = {**answer, "file": str(file), "bytes": len(content)}
    _say(said, flags, f"{file}: {len(content)} bytes")


@state.command("export")
@click.argument("file", type=_PATH)
@click.option("--format", "form", type=click.Choice(["bigfleet", "go"]), default="bigfleet")
@provider_verb
def export_state(file: Path, form: str, **flags: Any) -> None:
    """Everything the provider knows as one JSON document."""
    answer, content = _asked("state export", flags, format=form)
    _write_private(file, content)
    _say({**answer, "file": str(file)}, flags, f"{file}: {answer['machines']} machines")


@state.command("import")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@audited
@provider_verb
def import_state(file: Path, **flags: Any) -> None:
    """Take over an exported state, or the snapshot of a Go provider; nothing in use is touched."""
    answer, _ = _asked("state import", flags, content=file.read_bytes())
    taken = f"{answer['machines']} machines and {answer['marks']} marks taken over"
    _say(answer, flags, taken)


def _write_private(file: Path, content: bytes) -> None:
    """Bindings and metadata of every cluster are in it."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise click.ClickException(str(error)) from None
    with os.fdopen(handle, "wb") as out:
        out.write(content)


ADMIN_COMMANDS: list[click.Command] = [machines, ops, fences, failed, describe, state]
