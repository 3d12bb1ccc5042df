"""`bigfleet certs`: a development authority and certificates for each role."""

import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bigfleet.cli.output import current_output, prints_document
from bigfleet.cli.terminal import refuse
from bigfleet.model.instants import instant_text
from bigfleet.model.syntax import admin_identity, why_not_admin_name

if TYPE_CHECKING:
    from bigfleet.edge.certificates import Pair

ROLES = ("cluster", "shard", "coordinator", "readonly", "admin")
NAMED_ROLES = ("cluster", "shard")
#: A coordinator is called and calls no other process: its key opens nothing to a thief. Its id only
#: tells replicas' files apart, where they do not share one certificate.
NAMELESS_ROLE = "coordinator"
#: An identity is compared letter by letter and is a folder's name too.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
#: A DNS name, also a wildcard, or an IP address of either kind.
_HOST = re.compile(r"(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*")
_PATH = click.Path(path_type=Path, file_okay=False)

_dir = click.option("--dir", "folder", type=_PATH, required=True, help="Folder of the authority.")
_force = click.option("--force", is_flag=True, help="Replace what is there.")
_document_form = prints_document()


@click.group(no_args_is_help=True)
def certs() -> None:
    """Make certificates for development: an authority, and one certificate per role.

    The keys are not protected by a passphrase. For a real fleet let your own authority issue
    certificates with the same names.
    """


@certs.command(short_help="Make an authority.")
@_dir
@click.option("--days", type=click.IntRange(1), default=3650, show_default=True)
@_force
@_document_form
def ca(folder: Path, days: int, force: bool) -> None:
    """Make an authority: ca.crt, which every process trusts, and ca.key, which signs.

    \b
    Examples:
      bigfleet certs ca --dir certs
    """
    from bigfleet.edge.certificates import authority

    files = {"ca": folder / "ca.crt", "key": folder / "ca.key"}
    _refuse_to_overwrite(files, force)
    made = authority("BigFleet development CA", time.time_ns(), days)
    _write({files["ca"]: made.certificate, files["key"]: made.key})
    _say(files, made, None)


@certs.command(short_help="Make a certificate for one role.")
@click.option("--role", type=click.Choice(ROLES), required=True)
@click.option(
    "--id", "id_", default="", help="Cluster, shard or coordinator id; other roles have none."
)
@click.option("--name", "person", default="", help="Of role admin: the name that audits show.")
@_dir
@click.option(
    "--host",
    "hosts",
    multiple=True,
    help="DNS name or IP address it serves on, beside the loopback; may be repeated.",
)
@click.option("--days", type=click.IntRange(1), default=365, show_default=True)
@_force
@click.option(
    "--context", default="", metavar="NAME", help="Put it into this context, which verbs then use."
)
@_document_form
def issue(
    role: str,
    id_: str,
    person: str,
    folder: Path,
    hosts: tuple[str, ...],
    days: int,
    force: bool,
    context: str,
) -> None:
    """Make a certificate for one role, in a folder of its own: tls.crt, tls.key and ca.crt.

    \b
    Examples:
      bigfleet certs issue --role shard --id shard-0 --dir certs
      bigfleet certs issue --role cluster --id shop --dir certs
      bigfleet certs issue --role coordinator --host coordinator.fleet.svc --dir certs
      bigfleet certs issue --role admin --name ada --dir certs
      bigfleet certs issue --role admin --name ada --dir certs --context dev
    """
    from bigfleet.edge.certificates import Pair, UnusableAuthority, leaf

    _check_context(context, role)
    uri, name = _identity(role, id_, person), id_ or person
    _check_hosts(hosts)
    own = folder / (f"{role}-{name}" if name else role)
    files = {"cert": own / "tls.crt", "key": own / "tls.key", "ca": own / "ca.crt"}
    _refuse_to_overwrite(files, force)
    try:
        signer = Pair((folder / "ca.crt").read_bytes(), (folder / "ca.key").read_bytes(), 0)
        made = leaf(signer, f"{role} {name}".strip(), uri, time.time_ns(), days, hosts)
    except OSError as problem:
        hint = f"make an authority first: bigfleet certs ca --dir {folder}"
        raise refuse([f"{problem.filename}: {problem.strerror}; {hint}"]) from None
    except UnusableAuthority as problem:
        hint = f"make another with bigfleet certs ca --dir {folder} --force, and issue anew"
        raise refuse([f"the authority in {folder} cannot sign: {problem}; {hint}"]) from None
    _write(
        {
            files["cert"]: made.certificate,
            files["key"]: made.key,
            files["ca"]: signer.certificate,
        }
    )
    if context:
        _remember(context, files)
    _say(files, made, uri)
    if context and not current_output().is_document:
        click.echo(f"It is in context {context}: bigfleet context show {context}")


def _check_context(context: str, role: str) -> None:
    from bigfleet.cli.contexts import why_not_a_name

    if context and role not in ("admin", "readonly"):
        raise click.UsageError(f"--context is for people, who are admin or readonly, not {role}")
    if context and (why := why_not_a_name(context)):
        raise refuse([f"--context {why}"])


def _remember(context: str, files: dict[str, Path]) -> None:
    """Its address, where it has one, stays as it is."""
    from dataclasses import replace

    from bigfleet.cli.contexts import Contexts, FleetContext, change_contexts, context_file
    from bigfleet.model.errors import BadInput

    cert, key, ca = (str(files[name].absolute()) for name in ("cert", "key", "ca"))

    def with_files(known: Contexts) -> Contexts:
        found = known.by_name.get(context) or FleetContext(context)
        return known.with_context(replace(found, cert=cert, key=key, ca=ca))

    try:
        change_contexts(context_file(os.environ), with_files)
    except BadInput as problem:
        raise refuse(map(str, problem.problems)) from None


def _identity(role: str, name: str, person: str) -> str:
    """Empty: the certificate only serves; it is not an identity."""
    if person and role != "admin":
        raise click.UsageError(f"--name is for role admin: role {role} is not a person's")
    if role == "admin" and name:
        raise click.UsageError(f"role admin has no --id; write --name {name}")
    if person:
        if wrong := why_not_admin_name(person):
            raise click.UsageError(f"--name {person!r}: {wrong}")
        return admin_identity(person)
    if role not in NAMED_ROLES and role != NAMELESS_ROLE:
        if name:
            raise click.UsageError(f"role {role} has no --id: all its holders are one")
        return f"bigfleet://{role}"
    if not name and role in NAMED_ROLES:
        raise click.UsageError(f"role {role} needs --id: the name of the {role}")
    if name and not _ID.fullmatch(name):
        raise click.UsageError(
            f"--id {name!r}: letters, digits, '.', '_' and '-', beginning with a letter or digit"
        )
    return "" if role == NAMELESS_ROLE else f"bigfleet://{role}/{name}"


def _check_hosts(hosts: tuple[str, ...]) -> None:
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise click.UsageError(f"--host {host!r} is neither a DNS name nor an IP address")


def _refuse_to_overwrite(files: dict[str, Path], force: bool) -> None:
    there = [str(path) for path in files.values() if path.exists()]
    if there and not force:
        raise refuse([f"{path} is there already; --force replaces it" for path in there])


def _write(content_of: dict[Path, bytes]) -> None:
    """Each file whole or not at all, and for its owner's eyes only."""
    from bigfleet.edge.files import write_whole

    try:
        for path, content in content_of.items():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(path, content)
    except OSError as problem:
        raise refuse([f"{problem.filename}: {problem.strerror}"]) from None


def _say(files: dict[str, Path], made: "Pair", uri: str | None) -> None:
    """No uri: an authority; an empty one: a certificate without a bigfleet:// name."""
    expires = instant_text(made.expires_at)
    paths = {name: str(path) for name, path in files.items()}
    if current_output().is_document:
        from bigfleet.cli.tables import write_document

        identity = {"identity": uri} if uri else {}
        write_document({"files": paths, **identity, "expiresAt": expires})
        return
    for path in paths.values():
        click.echo(path)
    unnamed = "no bigfleet:// name: it may serve, and may not call others"
    click.echo(f"{'authority' if uri is None else uri or unnamed}, valid until {expires}")
    if uri is not None:
        click.echo(
            f"Use it: --tls-cert {paths['cert']} --tls-key {paths['key']} --tls-ca {paths['ca']}"
        )
