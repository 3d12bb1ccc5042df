"""docs/reference: what stands there is what the code has, and nothing is left out."""

import pytest

from bigfleet.cli.settings.asking_sections import CLI
from bigfleet.cli.settings.sections import COORDINATOR, LOG, OPERATOR, PODWATCH, SHARD, TLS
from bigfleet.model.reasons import TEMPLATES
from bigfleet.wire.authorisation import GATES
from tests.site.metrics_page import PROCESSES
from tests.site.reference import FOLDER, PAGES
from tests.site.rpcs_page import callers, services

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


def test_every_rpc_of_the_table_of_who_may_call_is_one_of_the_protos() -> None:
    ours = {path for path in GATES if path.startswith("/bigfleet.")}
    assert ours <= set(RPCS)


WHO = {
    "/bigfleet.v1alpha1.Shard/Session": ["cluster"],
    "/bigfleet.admin.v1alpha1.ShardAdmin/Pause": ["admin"],
    "/bigfleet.admin.v1alpha1.ShardAdmin/ListNeeds": ["admin", "readonly"],
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
