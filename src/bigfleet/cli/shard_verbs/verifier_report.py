"""`bigfleet reports verifier`: what the verifier of every shard allows, vetoed and found broken."""

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from bigfleet.cli.connections import Clients, Connection, audit_of
from bigfleet.cli.whole_fleet import FleetAnswers, ask_fleet

if TYPE_CHECKING:
    from bigfleet.cli.listings import Column, Listing
    from bigfleet.model.verifier_views import PolicySet, VerifierPolicy, VerifierView

    Row = tuple[str, VerifierView]

#: Instead of a freeze window: there is to be none.
NO_FREEZE = "none"


def show_verifiers(connection: Connection) -> None:
    from bigfleet.cli.listings import write_listing

    answers = ask_fleet(connection, lambda shard: shard.admin.verifier())
    write_listing(connection, _listing(answers))
    answers.leave_partial(connection)


def set_policy(
    connection: Connection,
    freeze: tuple[str, ...],
    ceiling: float | None,
    zone: float | None,
    from_settings: bool,
    owner: str | None,
    reason: str,
) -> None:
    """What is not named stays as it is."""
    from bigfleet.cli.tables import write_items
    from bigfleet.wire.verifier_views import POLICY

    async def act(shard: Clients) -> "PolicySet":
        policy = _changed((await shard.admin.verifier()).policy, freeze, ceiling, zone)
        audit = audit_of(owner, reason)
        return await shard.admin.set_verifier_policy(audit, policy, from_settings)

    answers = ask_fleet(connection, act)
    if connection.json:
        items = [
            {"shardId": shard, "policy": POLICY.document(done.policy), "text": done.text}
            for shard, done in answers.said.items()
        ]
        write_items(items, connection.now, **answers.document())
    else:
        for shard, done in answers.said.items():
            click.echo(f"{shard}: {done.text}: {policy_text(done.policy)}")
    answers.leave_partial(connection)


def _changed(
    policy: "VerifierPolicy", freeze: tuple[str, ...], ceiling: float | None, zone: float | None
) -> "VerifierPolicy":
    if freeze:
        windows = () if freeze == (NO_FREEZE,) else freeze
        policy = replace(policy, freeze_windows=windows)
    if ceiling is not None:
        policy = replace(policy, spend_ceiling=ceiling)
    if zone is not None:
        policy = replace(policy, reclaim_zone_fraction=zone)
    return policy


def policy_text(policy: "VerifierPolicy") -> str:
    from bigfleet.cli.tables import counted
    from bigfleet.model.reasons import dollars_text

    ceiling = f"{dollars_text(policy.spend_ceiling)}/h at most" if policy.spend_ceiling else ""
    zone = policy.reclaim_zone_fraction
    said = (
        counted(len(policy.freeze_windows), "freeze window"),
        ceiling or "no spend ceiling",
        f"{zone:g} of a zone a minute" if zone else "zones without a limit",
    )
    return ", ".join(said)


def _listing(answers: "FleetAnswers[VerifierView]") -> "Listing[Row]":
    from bigfleet.cli.listings import Listing
    from bigfleet.wire.verifier_views import VERIFIER

    return Listing(
        columns=columns(),
        rows=list(answers.said.items()),
        document=lambda row: {**VERIFIER.document(row[1]), "shardId": row[0]},
        name=lambda row: f"shard/{row[0]}",
        head=answers.document(),
        empty="No shard.",
    )


def columns() -> "list[Column[Row]]":
    from bigfleet.cli.listings import Column

    return [
        Column("SHARD", lambda row: row[0]),
        Column("STATE", _state_text, style=lambda row: "red" if _is_wrong(row) else ""),
        Column("POLICY", lambda row: policy_text(row[1].policy)),
        Column("SET_BY", lambda row: row[1].set_by.owner if row[1].set_by else "settings"),
        Column("FROZEN", lambda row: len(row[1].open_freezes), number=True),
        Column("VETOES", _vetoes_text),
        Column("INCIDENTS", lambda row: row[1].incidents, number=True),
        Column("LAST_INCIDENT", _incident_text, sentence=True),
    ]


def _is_wrong(row: "Row") -> bool:
    return bool(row[1].error or row[1].incidents)


def _state_text(row: "Row") -> str:
    if not row[1].enabled:
        return "off"
    return "fails" if row[1].error else "on"


def _vetoes_text(row: "Row") -> str:
    """`V6 12, V8 3`."""
    return ", ".join(f"{name} {number:,}" for name, number in row[1].vetoes.items())


def _incident_text(row: "Row") -> str:
    if row[1].error:
        return row[1].error
    return row[1].last_incidents[-1].text if row[1].last_incidents else ""
