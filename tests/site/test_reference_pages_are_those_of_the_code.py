"""docs/reference: what stands there is what the code has, and nothing is left out."""

import click
import pytest

from bigfleet.cli.main import cli
from bigfleet.cli.settings.asking_sections import CLI
from bigfleet.cli.settings.sections import COORDINATOR, LOG, OPERATOR, PODWATCH, SHARD, TLS
from bigfleet.model.advice import ADVICE
from bigfleet.model.reasons import TEMPLATES
from bigfleet.wire.authorisation import GATES
from bigfleet.wire.rpcs import ListingRpc, StreamRpc, UnaryRpc
from tests.cli.test_commands_on_pages_can_be_typed import why_unknown
from tests.site.metrics_page import PROCESSES
from tests.site.reference import FOLDER, PAGES, TROUBLESHOOTING
from tests.site.rpcs_page import BY_HAND, ENTRIES, callers, services
from tests.site.troubleshooting_page import troubleshooting_page

RPCS = {rpc.path: rpc for service in services() for rpc in service.rpcs}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_that_of_the_code(name: str) -> None:
    assert (FOLDER / name).read_text() == PAGES[name](), "run: make reference"


def test_the_folder_holds_no_other_page() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(PAGES)


def test_every_setting_is_named() -> None:
    text = (FOLDER / "settings.md").read_text()
    sections = (SHARD, COORDINATOR, OPERATOR, PODWATCH, TLS, LOG, CLI)
    keys = [key for section in sections for key in section.all_keys()]
    assert [key.name for key in keys if f"`{key.name}` | `{key.flag}`" not in text] == []


def test_every_verb_with_flags_is_named() -> None:
    text = (FOLDER / "flags.md").read_text()
    for verb in ("plan", "up", "certs issue", "machines list", "provider ops", "quotas set"):
        assert f"\n## bigfleet {verb}\n" in text
    assert "`--headless`" in text
    assert "`bigfleet shard`" not in text


def test_every_metric_is_named() -> None:
    text = (FOLDER / "metrics.md").read_text()
    names = [
        catalogue.prefix + name
        for catalogue, _ in PROCESSES.values()
        for name in (*catalogue.counters, *catalogue.gauges, *catalogue.histograms)
    ]
    assert [name for name in names if f"`{name}`" not in text] == []


def test_every_reason_can_be_linked_to() -> None:
    text = (FOLDER / "reasons.md").read_text()
    assert [code for code in TEMPLATES if f'<a id="{code}"></a>' not in text] == []


def test_the_page_of_troubleshooting_is_that_of_the_code() -> None:
    assert TROUBLESHOOTING.read_text() == troubleshooting_page(), "run: make reference"


def test_every_reason_has_advice_and_no_other_code_has() -> None:
    assert set(ADVICE) == set(TEMPLATES)
    assert [code for code, advice in ADVICE.items() if not (advice.see and advice.todo)] == []


#: Product rule 3.2: codes that users may rely on.
PROMISED = """
rail.paused rail.dry-run rail.reclaim-cap rail.quarantine.rollup rail.quarantine.list
rail.first-rollup rail.verifier rail.thrash-hold same.no-domain same.too-small same.parked
spread.skew supply.none supply.min-unit supply.requirement supply.backoff supply.quota
flight.creating flight.configuring flight.draining flight.reserved claim.higher claim.earlier
preempt.exhausted preempt.none-lower cost.rank keep.order hold.idle never.released excess
""".split()


@pytest.mark.parametrize("code", PROMISED)
def test_a_promised_code_says_what_it_means_how_to_see_it_and_what_to_do(code: str) -> None:
    _, _, entry = TROUBLESHOOTING.read_text().partition(f'### <a id="{code}"></a>')
    body = entry.partition("\n### ")[0]
    assert "- See it: `bigfleet " in body
    assert "- Do: " in body


def test_advice_names_commands_that_exist() -> None:
    shown = {command for advice in ADVICE.values() for command in advice.see}
    assert {command: why for command in shown if (why := why_unknown(command.split()[1:]))} == {}


def test_advice_names_settings_that_exist() -> None:
    known = {key.name for each in (SHARD, COORDINATOR) for key in each.all_keys()}
    said = {
        word.rstrip(".,:;")
        for advice in ADVICE.values()
        for word in advice.todo.split()
        if word.startswith(("shard.", "coordinator."))
    }
    assert said
    assert said - known == set()


def test_every_rpc_of_the_table_of_who_may_call_is_one_of_the_protos() -> None:
    ours = {path for path in GATES if path.startswith("/bigfleet.")}
    assert ours <= set(RPCS)


def test_every_rpc_of_the_protos_is_in_the_table_or_written_by_hand() -> None:
    by_hand = {path for path, rpc in RPCS.items() if rpc.service in BY_HAND}
    assert set(ENTRIES) | by_hand == set(RPCS)
    assert not set(ENTRIES) & by_hand


@pytest.mark.parametrize("path", ENTRIES)
def test_an_entry_reads_the_answer_of_its_rpc(path: str) -> None:
    entry, answer = ENTRIES[path], RPCS[path].answer.removeprefix("stream ")
    if isinstance(entry, UnaryRpc):
        assert entry.answer.message_type.DESCRIPTOR.name == answer
    elif isinstance(entry, ListingRpc):
        assert entry.page.message_type.DESCRIPTOR.name == answer
    elif isinstance(entry, StreamRpc):
        assert entry.message_type.DESCRIPTOR.name == answer


@pytest.mark.parametrize("path", [path for path, entry in ENTRIES.items() if entry.verb])
def test_the_verb_of_an_entry_is_one_of_the_command_line(path: str) -> None:
    command: click.Command | None = cli
    for word in ENTRIES[path].verb.split():
        assert isinstance(command, click.Group), f"{word} of {ENTRIES[path].verb}"
        command = command.get_command(click.Context(cli), word)
    assert command is not None, f"there is no bigfleet {ENTRIES[path].verb}"


WHO = {
    "/bigfleet.v1alpha1.Shard/Session": ["cluster"],
    "/bigfleet.admin.v1alpha1.ShardAdmin/Pause": ["admin"],
    "/bigfleet.admin.v1alpha1.ShardAdmin/ListMachines": ["admin", "readonly"],
    "/bigfleet.admin.v1alpha1.ShardAdmin/ListNeeds": ["admin", "readonly", "cluster"],
    "/bigfleet.v1alpha1.Coordinator/ReportShard": ["shard"],
    "/bigfleet.v1alpha1.CapacityProvider/Create": ["admin", "shard"],
    "/bigfleet.v1alpha1.CapacityProvider/List": ["admin", "readonly", "shard"],
    "/bigfleet.admin.v1alpha1.ProviderAdmin/ExportState": ["admin"],
}


@pytest.mark.parametrize("path", WHO)
def test_who_may_call_is_what_the_server_decides(path: str) -> None:
    assert callers(RPCS[path]) == WHO[path]


def test_an_rpc_is_open_to_at_least_one_role() -> None:
    assert [path for path, rpc in RPCS.items() if not callers(rpc)] == []
