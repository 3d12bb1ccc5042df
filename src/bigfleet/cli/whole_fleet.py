"""The shards of a fleet as its coordinator knows them, and answers of which some may be missing."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import click

from bigfleet.cli.connections import Line, asked, is_address, no_such_shard
from bigfleet.cli.manner import EXIT_PARTIAL, Manner, cause_of, named_text
from bigfleet.cli.terminal import plain
from bigfleet.model.durations import short_text

if TYPE_CHECKING:
    from bigfleet.model.provider_calls import Rejected
    from bigfleet.wire.coordinator_admin_client import CoordinatorAdminClient

#: How long shards may take that are asked for something beside the point.
_GLANCE_SECONDS = 5.0
T = TypeVar("T")
M = TypeVar("M", bound=Manner)


async def shards_meant(line: Line, coordinator: "CoordinatorAdminClient") -> dict[str, str]:
    """Address by id: of those that are named, else of all; raises Rejected for an unknown one."""
    known = {entry.shard_id: entry.address for entry in await coordinator.shards()}
    if not line.narrows:
        return known
    id_at = {address: shard_id for shard_id, address in known.items()}
    meant = {}
    for word in line.shards:
        shard_id = word
        if is_address(word):
            shard_id = id_at.get(word) or await _id_at(line, word)
        if shard_id not in known:
            raise no_such_shard(shard_id, known)
        meant[shard_id] = word if is_address(word) else known[word]
    return meant


async def _id_at(line: Line, address: str) -> str:
    """A shard may be reached where its coordinator does not reach it: through a tunnel."""
    from bigfleet.model.provider_calls import Code, Rejected

    try:
        status = await asked(line, address, lambda shard: shard.admin.status())
    except Rejected as rejected:
        why = cause_of(rejected)
        text = f"the coordinator knows no shard at {address}, and it does not answer: {why}"
        raise Rejected(Code.NOT_FOUND, text) from None
    return status.shard_id


def at_a_glance(manner: M) -> M:
    """For what a coordinator knows best: one silent shard must not keep everybody waiting."""
    return replace(manner, timeout=min(manner.timeout, _GLANCE_SECONDS))


def told_apart(answers: "Mapping[str, T | Rejected]") -> "tuple[dict[str, T], dict[str, Rejected]]":
    """What was said, and what went wrong, by shard."""
    from bigfleet.model.provider_calls import Rejected

    said = {name: each for name, each in answers.items() if not isinstance(each, Rejected)}
    failed = {name: each for name, each in answers.items() if isinstance(each, Rejected)}
    return said, failed


def leave_partial(
    manner: Manner, addresses: Mapping[str, str], failed: "Mapping[str, Rejected]"
) -> None:
    """Leaves with 5 where shards are missing in what was shown."""
    if not failed:
        return
    each = [
        f"{name} at {addresses[name]} ({silence_text(manner, rejected)})"
        for name, rejected in failed.items()
    ]
    said = f"{len(failed)} of {len(addresses)} shards gave no answer: {named_text(each)}"
    click.echo(plain(f"{said}; what they would say is missing"), err=True)
    raise click.exceptions.Exit(EXIT_PARTIAL)


def silence_text(manner: Manner, rejected: "Rejected") -> str:
    if rejected.code == "DEADLINE_EXCEEDED":
        return f"not within {short_text(manner.timeout)}"
    return cause_of(rejected)


def failure_document(rejected: "Rejected") -> dict[str, str]:
    return {"code": str(rejected.code), "text": rejected.text}
