"""How it looks and how it is typed: exact tables, widths, texts, completion, help."""

import subprocess
import sys
from dataclasses import replace

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from bigfleet.cli.coordinator_verbs.instructions import about_text
from bigfleet.cli.coordinator_verbs.providers import breaker_text
from bigfleet.cli.coordinator_verbs.quotas import by_shard_text, pool_text
from bigfleet.cli.coordinator_verbs.shards import state_of
from bigfleet.cli.coordinator_verbs.transfers import ids_text
from bigfleet.cli.main import VERBS, cli
from bigfleet.cli.request_options import cause_of
from bigfleet.cli.shard_verbs.fleet_status import (
    FleetCondition,
    ShardCondition,
    headline_of,
    link_text,
    state_text,
)
from bigfleet.cli.shard_verbs.shard_reports import counts_text, totals_text
from bigfleet.cli.tables import Page, Table, cell, table_of
from bigfleet.model.coordination import ShardEntry
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_views import (
    CoordinatorLink,
    NeedCounts,
    OfferingState,
    OfferingView,
    Quarantine,
    QuarantineKind,
)
from tests.coordinator_wire import samples
from tests.wire.admin import STATUS

QUARANTINE = Quarantine(QuarantineKind.ROLLUP, "shop", 20, 0, 1, 3, 1, 2)
OFFERING = OfferingView("sim/a3/z-a/Spot", OfferingState.OPEN, "stockout", 1, 1, 2)
CHANGING = ("remove", "cancel", "assign", "unassign", "default", "set", "delete", "unbind")
COORDINATOR_VERBS = {n: verb for n, verb in VERBS.items() if "coordinator_verbs" in verb.module}


def drawn(table: Table, width: int | None) -> str:
    page = Page(False, width)
    page.show(table)
    return page.text()


def transfers() -> Table:
    table = table_of("TRANSFER", "FROM", "TO", sentence="REASON")
    why = "shard-1 is short of cpu 120 at priority 1000; shard-0 has 412 idle machines that match"
    table.add_row(cell("tx-7f3a"), cell("shard-0"), cell("shard-1"), cell(why))
    return table


def test_a_reason_is_folded_to_the_width_of_the_terminal() -> None:
    assert drawn(transfers(), 80) == (
        "TRANSFER  FROM     TO       REASON\n"
        "tx-7f3a   shard-0  shard-1  shard-1 is short of cpu 120 at priority 1000;\n"
        "                            shard-0 has 412 idle machines that match\n"
    )
    assert len(drawn(transfers(), None).splitlines()) == 2


def test_a_cell_of_several_words_is_neither_folded_nor_cut() -> None:
    table = table_of("NAME", "SHARDS", "BREAKER")
    shards = ", ".join(f"shard-{n}" for n in range(12))
    table.add_row(cell("aws"), cell(shards), cell("open on shard-3"))
    assert drawn(table, 40) == drawn(table, None)
    assert shards in drawn(table, 40)


def test_a_long_table_looks_like_a_short_one() -> None:
    """A fleet has a hundred thousand domains: they are drawn in another, quicker way."""

    def domains(rows: int) -> Table:
        table = table_of("KEY", "VALUE", "COUNT", numbers=["COUNT"])
        for number in range(rows):
            table.add_row(cell("zone"), cell(f"z-{number % 1000}"), cell(number % 1000))
        return table

    assert drawn(domains(5000), None).startswith(drawn(domains(2000), None))
    assert len(drawn(domains(5000), 20).splitlines()) == 5001


@pytest.mark.parametrize(
    ("heard", "state"), [(None, "silent"), (71 * SECOND, "live"), (69 * SECOND, "stale")]
)
def test_a_shard_is_stale_after_three_intervals(heard: int | None, state: str) -> None:
    assert state_of(ShardEntry("shard-0", "h:1", 1, heard), 100 * SECOND) == state


def test_the_headline_of_a_fleet_says_who_leads_and_what_waits() -> None:
    led = FleetCondition({"c:7790": samples.STATUS}, {}, {})
    assert headline_of(led) == (
        "c-0 leads in term 3; 2 shards, 3 clusters, 4 domains; 5 instructions pending, "
        "6 transfers open; rebalancing is paused"
    )
    follower = replace(samples.STATUS, is_leader=False)
    assert headline_of(FleetCondition({"c:7790": follower}, {}, {})).startswith(
        "no coordinator leads"
    )


def test_the_line_of_a_shard_says_all_that_holds_it_back() -> None:
    held = replace(STATUS, not_ready_reason="not listed yet")
    assert state_text(ShardCondition(held, (QUARANTINE,), (OFFERING, OFFERING))) == (
        "not ready: not listed yet; 2 arriving, 3 blocked, 4 short; 5 pods stuck; "
        "2 pauses in force; dry-run; 1 quarantine; "
        "2 offerings out of stock; breaker open: sim; "
        "1 verifier incident: bigfleet reports verifier; the verifier fails; "
        "the journal cannot be written"
    )
    well = replace(STATUS, not_ready_reason="", pauses=(), dry_run=False, journal_degraded=False)
    well = replace(well, need_states=NeedCounts(met=3), stuck_pods=0)
    well = replace(well, verifier_incidents=0, verifier_error="")
    closed = replace(STATUS.providers[0], breaker_open=False)
    assert state_text(ShardCondition(replace(well, providers=(closed,)), (), ())) == "ready"
    assert state_text(ShardCondition(replace(well, providers=()), (), ())) == "ready; no provider"


def test_the_link_of_a_shard_to_its_coordinator_has_an_age() -> None:
    link = CoordinatorLink("c:7790", True, 5 * SECOND)
    assert link_text(link, 8 * SECOND) == "up 3s"
    assert link_text(replace(link, connected=False), 8 * SECOND) == "down 3s"
    assert link_text(CoordinatorLink("c:7790", False), 8 * SECOND) == "down"
    assert link_text(None, 8 * SECOND) == "none"


def test_few_words_say_what_is_where() -> None:
    assert counts_text({"b": 3, "a": 12, "": 1}) == "a=12, b=3, (none)=1"
    assert counts_text(dict.fromkeys("abcdef", 1)) == "a=1, b=1, c=1, d=1 and 2 more"
    assert totals_text([samples.REPORT_VIEW]) == "1 shard; 3 machines, 1 free; 1 short"
    quiet = replace(samples.REPORT_VIEW, shortfalls=())
    assert totals_text([quiet, quiet]) == "2 shards; 6 machines, 2 free; nothing short"
    assert by_shard_text(samples.QUOTA) == "shard-0=8/12, shard-1=0/0"
    assert (pool_text("aws", "eu"), pool_text("aws", "")) == ("aws eu", "aws")
    assert breaker_text({"shard-0": "closed", "shard-1": "open"}) == "open on shard-1"
    assert (breaker_text({"shard-0": "closed"}), breaker_text({})) == ("closed", "")
    assert [about_text(each) for each in samples.INSTRUCTIONS[1:]] == [
        f"{samples.ZONE}=z-b",
        "2 machines",
        "1 machine",
        "1 machine from shard-0 to shard-1",
    ]


def test_a_failure_to_connect_is_told_by_its_last_cause() -> None:
    refused = "failed to connect to all addresses; last error: UNKNOWN: ipv4:1.2.3.4:5: Refused"
    assert cause_of(Rejected(Code.UNAVAILABLE, refused)) == "Refused"
    both = f"none of the coordinators leads: a:1: {refused}; b:2: nobody leads"
    assert cause_of(Rejected(Code.UNAVAILABLE, both)) == (
        "none of the coordinators leads: a:1: Refused; b:2: nobody leads"
    )
    assert cause_of(Rejected(Code.INTERNAL, "")) == "INTERNAL"


@pytest.mark.parametrize(
    ("handshake", "told"),
    [
        (
            "CERTIFICATE_VERIFY_FAILED: unable to get local issuer certificate: OK",
            "the certificates do not fit (CERTIFICATE_VERIFY_FAILED)",
        ),
        (
            "WRONG_VERSION_NUMBER: Invalid certificate verification context: OK",
            "the certificates do not fit (WRONG_VERSION_NUMBER)",
        ),
    ],
    ids=["of another authority", "no TLS there"],
)
def test_a_handshake_that_failed_is_told_as_such(handshake: str, told: str) -> None:
    said = (
        "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: Tls handshake "
        "failed (TSI_PROTOCOL_FAILURE): SSL_ERROR_SSL: error:1000007d:SSL routines:"
        f"OPENSSL_internal:{handshake}"
    )
    assert cause_of(Rejected(Code.UNAVAILABLE, said)) == told
    both = f"none of the coordinators leads: a:1: {said}; b:2: nobody leads"
    assert cause_of(Rejected(Code.UNAVAILABLE, both)) == (
        f"none of the coordinators leads: a:1: {told}; b:2: nobody leads"
    )


def completed(*words: str) -> list[str]:
    *args, incomplete = words
    shell = ShellComplete(cli, {}, "bigfleet", "_BIGFLEET_COMPLETE")
    return [item.value for item in shell.get_completions(args, incomplete)]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("quo",), ["quotas"]),
        (("shards", "tr"), ["transfers"]),
        (("shards", "in"), ["instructions"]),
        (("domains", "as"), ["assign"]),
        (("domains", "assign", "--sh"), ["--shard"]),
        (("quotas", "set", "--to"), ["--total"]),
        (("providers", "set", "aws", "--add"), ["--address"]),
        (("clusters", "un"), ["unbind"]),
        (("reports", "sh"), ["shards"]),
        (("shards", "-o", "js"), ["json"]),
        (("status", "--coor"), ["--coordinator"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_a_shell_completes(words: tuple[str, ...], offered: list[str]) -> None:
    assert completed(*words) == offered


def test_the_verbs_load_nothing_heavy_before_they_run() -> None:
    heavy = "{'numba', 'numpy', 'grpc', 'rich', 'yaml', 'google.protobuf', 'orjson', 'msgspec'}"
    modules = ", ".join(sorted({verb.module for verb in COORDINATOR_VERBS.values()}))
    code = f"import sys, {modules}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


#: Every verb below a group that asks the coordinator.
INNER = [
    *("shards list", "shards remove", "shards transfers", "shards cancel", "shards instructions"),
    "shards shortfalls",
    *("domains assign", "domains unassign", "domains default", "quotas set", "quotas delete"),
    *("providers set", "providers delete", "clusters unbind"),
]


@pytest.mark.parametrize("verb", COORDINATOR_VERBS)
def test_help_teaches_by_example(verb: str) -> None:
    shown = CliRunner().invoke(cli, [verb, "--help"])
    assert shown.exit_code == 0
    assert f"bigfleet {verb}" in shown.output.partition("Options:")[0].partition("Example")[2]


@pytest.mark.parametrize("verb", INNER)
def test_every_verb_says_where_to_ask_and_how_to_show(verb: str) -> None:
    shown = CliRunner().invoke(cli, [*verb.split(), "--help"]).output
    for flag in ("--coordinator", "--timeout", "-o, --output", "--tls-cert", "--config"):
        assert flag in shown
    # Where it is there, it is what the verb is about.
    asked = "Address of a shard, or its id"
    assert asked not in " ".join(shown.split())


@pytest.mark.parametrize("verb", [verb for verb in INNER if verb.split()[1] in CHANGING])
def test_every_change_wants_a_reason(verb: str) -> None:
    shown = CliRunner().invoke(cli, [*verb.split(), "--help"]).output
    assert "Why; it is logged and shown.  [required]" in shown
    assert "[default: your login name]" in shown


def test_a_transfer_names_its_first_machines_and_how_many_more_there_are() -> None:
    assert ids_text(()) == ""
    assert ids_text(("m-1", "m-2", "m-3")) == "m-1, m-2, m-3"
    assert ids_text(tuple(f"m-{n}" for n in range(1, 45))) == "m-1, m-2, m-3 and 41 more"
