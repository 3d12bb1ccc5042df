"""`bigfleet snapshot`: the coordinator's whole state into a file, and from a file into a store."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bigfleet.cli.connections import audit_of, audited
from bigfleet.cli.coordinator_verbs.connection import CoordinatorConnection, coordinator_verb
from bigfleet.cli.output import answers_once, current_output, prints_document
from bigfleet.cli.request_options import EXIT_REFUSED, EXIT_UNREACHABLE
from bigfleet.cli.shard_verbs.fleet_snapshot import fleet_snapshot
from bigfleet.cli.terminal import plain, refuse
from bigfleet.model.errors import BadInput

if TYPE_CHECKING:
    from bigfleet.coordinator.stores.contract import Rows
    from bigfleet.wire.coordinator_handlers import SnapshotMeta
    from bigfleet.wire.lines import TlsFiles


@click.group(no_args_is_help=True)
def snapshot() -> None:
    """The state of the coordinator, or the live fleet, as one file.

    \b
    Examples:
      bigfleet snapshot fleet - | bigfleet plan -
      bigfleet snapshot save before-the-upgrade.snapshot
      bigfleet snapshot restore before-the-upgrade.snapshot --data-dir ./coord-data
    """


snapshot.add_command(fleet_snapshot)


@snapshot.command(short_help="Everything a live coordinator holds, into FILE.")
@coordinator_verb
@answers_once
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def save(connection: CoordinatorConnection, file: Path) -> None:
    """Everything a live coordinator holds, as of now, into FILE.

    The leader is asked; only finding it has a deadline (--timeout). The file appears when all of it
    has arrived, and replaces one of that name.
    """
    from bigfleet.cli.tables import write_json
    from bigfleet.wire.snapshot_frames import snapshot_document

    pieces: list[bytes] = []
    meta = connection.ask(lambda coordinator: coordinator.snapshot(pieces.append))
    try:
        _write(file, meta, b"".join(pieces))
    except OSError as problem:
        raise refuse([f"{file} cannot be written: {problem.strerror}"]) from None
    if connection.json:
        write_json({"file": str(file), **snapshot_document(meta)}, connection.now)
        return
    click.echo(plain(f"saved {file}: {_text_of(meta)}"))


@snapshot.command(short_help="A snapshot into an empty store, while no coordinator runs.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--data-dir", type=click.Path(path_type=Path), default=None, help="For SQLite.")
@click.option("--etcd-endpoints", multiple=True, help="host:port of a member, may be repeated.")
@click.option(
    "--etcd-prefix", default="/bigfleet/v1", show_default=True, help="Prefix of its keys."
)
@click.option("--etcd-tls-cert", default="", help="Client certificate for etcd, PEM.")
@click.option("--etcd-tls-key", default="", help="Its key, PEM.")
@click.option("--etcd-tls-ca", default="", help="Authority that signed etcd's certificates, PEM.")
@prints_document()
@audited
def restore(
    file: Path,
    data_dir: Path | None,
    etcd_endpoints: tuple[str, ...],
    etcd_prefix: str,
    etcd_tls_cert: str,
    etcd_tls_key: str,
    etcd_tls_ca: str,
    owner: str | None,
    reason: str,
) -> None:
    """A snapshot into an empty store, while no coordinator runs on it.

    Its term jumps 1000 ahead, so that no shard hears an older one than it knows. The coordinator
    that starts on it gives no shard anything until every shard has told what it holds. Who restores
    and why is written into the store; the first coordinator that leads logs it.

    \b
    Examples:
      bigfleet snapshot restore latest.snapshot --data-dir ./coord-data --reason "disk lost"
      bigfleet snapshot restore latest.snapshot --etcd-endpoints etcd-1:2379 --reason "etcd lost"
    """
    import asyncio

    endpoints = tuple(
        word for part in etcd_endpoints for each in part.split(",") if (word := each.strip())
    )
    if (data_dir is None) == (not endpoints):
        raise click.UsageError("name one store: --data-dir DIR or --etcd-endpoints HOST:PORT")
    tls = _tls(etcd_tls_cert, etcd_tls_key, etcd_tls_ca)
    rows, meta = _read(file, _restored_text(file, owner, reason))
    asyncio.run(_restored(rows, data_dir, endpoints, etcd_prefix, tls))
    into = str(data_dir) if data_dir is not None else f"etcd below {etcd_prefix}"
    if current_output().is_document:
        from bigfleet.cli.tables import write_json
        from bigfleet.wire.snapshot_frames import snapshot_document

        document = {"file": str(file), "into": into, **snapshot_document(meta)}
        write_json(document, time.time_ns())
        return
    click.echo(plain(f"restored {file} into {into}: {_text_of(meta)}"))
    click.echo(
        "Start the coordinator. It assigns nothing until every shard has reported what it holds."
    )


def _restored_text(file: Path, owner: str | None, reason: str) -> str:
    from bigfleet.model.instants import instant_text
    from bigfleet.model.syntax import who_text

    # No server checks a certificate here: a user who may write the store may restore into it.
    who = who_text(audit_of(owner, reason).owner, None)
    return f"{who}: restored snapshot {file.name} at {instant_text(time.time_ns())} ({reason})"


def _read(file: Path, restored: str) -> "tuple[Rows, SnapshotMeta]":
    from bigfleet.coordinator.snapshots import imported, snapshot_of

    try:
        read = snapshot_of(file.read_bytes())
        return imported(read, restored), read.meta
    except OSError as problem:
        raise refuse([f"{file} cannot be read: {problem.strerror}"]) from None
    except BadInput as problem:
        lines = [f"{file}: {each.text}; nothing was restored" for each in problem.problems]
        raise refuse(lines) from None


async def _restored(
    rows: "Rows",
    data_dir: Path | None,
    endpoints: tuple[str, ...],
    prefix: str,
    tls: "TlsFiles | None",
) -> None:
    """Leaves with 4 where the store is not empty or in use, with 3 where it cannot be reached."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from bigfleet.coordinator.stores.contract import StoreDown, StoreRefused
    from bigfleet.coordinator.stores.restore import restore_into_etcd, restore_into_file
    from bigfleet.wire.etcd.client import EtcdClient

    try:
        if data_dir is not None:
            await restore_into_file(data_dir, rows)
            return
        client = EtcdClient(endpoints, tls)
        try:
            await restore_into_etcd(client, prefix, rows)
        finally:
            await client.close()
    except (StoreRefused, StoreDown) as problem:
        click.echo(plain(str(problem)), err=True)
        refused = isinstance(problem, StoreRefused)
        raise click.exceptions.Exit(EXIT_REFUSED if refused else EXIT_UNREACHABLE) from None


def _tls(cert: str, key: str, ca: str) -> "TlsFiles | None":
    from bigfleet.wire.lines import TlsFiles

    if not (cert or key or ca):
        return None
    if not (cert and key and ca):
        raise click.UsageError("--etcd-tls-cert, -key and -ca go together: all three, or none")
    files = TlsFiles(Path(cert), Path(key), Path(ca))
    if why := files.why_unusable():
        raise refuse([why])
    return files


def _write(file: Path, meta: "SnapshotMeta", content: bytes) -> None:
    from bigfleet.coordinator.snapshots import file_bytes
    from bigfleet.edge.files import write_whole
    from bigfleet.wire.coordinator_handlers import Snapshot

    write_whole(file, file_bytes(Snapshot(meta, content)))


def _text_of(meta: "SnapshotMeta") -> str:
    return (
        f"revision {meta.index}, term {meta.term}, {meta.size} bytes of {meta.backend}, "
        f"sha256 {meta.sha256}"
    )
