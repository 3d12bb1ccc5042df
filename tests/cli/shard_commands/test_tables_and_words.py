"""How it looks and how it is typed: exact tables, colours, selectors, completion, help."""

import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from bigfleet.cli.listings import show_listing
from bigfleet.cli.main import VERBS, cli
from bigfleet.cli.selectors import Term, selector_of
from bigfleet.cli.shard_verbs.clusters import ServedClusters, reported_cells, rows_of
from bigfleet.cli.shard_verbs.machine_tables import (
    machine_listing,
    machines_in,
    present_text,
)
from bigfleet.cli.shard_verbs.needs import profile_text
from bigfleet.cli.shard_verbs.status import demand_text, headline_of, show_links
from bigfleet.cli.tables import Page, age_text
from bigfleet.model.machines import CapacityType, Machine, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import PauseSource
from bigfleet.model.profiles import Profile, Spread, WhenUnsatisfiable
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.shard_views import (
    MachinePage,
    MachineSelector,
    MachineView,
    NeedCounts,
)
from tests.wire.admin import BARE, FULL, SESSION, SILENT, STATUS

PAGE = MachinePage(9, 125 * SECOND, 2, (BARE, FULL))
TABLE = """\
ID   STATE        CLUSTER  TYPE  ZONE  CAPACITY   $/H  SINCE  PENDING             SHARD
m-0  Speculative  -        -     -     Spot      0.00  -      -                   s-0
m-1  Draining     shop     a3    z-a   OnDemand  0.50  2m     Preempt (evicting)  s-0

2 of 2 shown, as of cycle 9
"""
SHARD_VERBS = {name: verb for name, verb in VERBS.items() if "shard_verbs" in verb.module}


def drawn(page: MachinePage, *, color: bool = False, width: int | None = None) -> str:
    sheet = Page(color, width)
    listing = machine_listing(machines_in({"s-0": page}), failed=False, missing={})
    show_listing(sheet, listing, listing.rows)
    return sheet.text()


def test_machines_are_drawn_in_the_stable_columns() -> None:
    assert drawn(PAGE) == TABLE


def test_the_age_of_a_state_is_told_where_it_is_known() -> None:
    assert present_text("m-0", BARE, 1) == "machine/m-0 is Speculative; Spot, $0.00/h"
    assert ", for 2m; OnDemand a3 z-a, " in present_text("m-1", FULL, 125 * SECOND)


def test_a_report_that_is_overdue_is_shown_as_such() -> None:
    assert [str(each) for each in reported_cells(SESSION)] == [
        *("2/3 (stale)", "4/5 (stale)", "1 (stale)"),
    ]
    assert [str(each) for each in reported_cells(SILENT)] == ["-", "-", "-"]
    assert [str(each) for each in reported_cells(None)] == ["-", "-", "-"]


def test_the_headline_says_that_something_is_paused() -> None:
    calm = replace(STATUS, verifier_incidents=0, verifier_error="")
    assert headline_of(calm, 1).endswith("4 short; 5 pods stuck; 2 pauses in force")
    assert "pause" not in headline_of(replace(STATUS, pauses=()), 1)


def test_a_pause_of_the_whole_fleet_is_counted_once() -> None:
    pause = STATUS.pauses[0]
    twice = (pause, replace(pause, source=PauseSource.COORDINATOR))
    said = headline_of(replace(STATUS, pauses=twice), 1)
    assert said.endswith("; 1 pause in force; 1 verifier incident; the verifier fails")


DEMAND = {
    "an older shard tells shortfalls": (None, "4 short"),
    "no needs": (NeedCounts(), "no needs"),
    "everything is met": (NeedCounts(3), "all 3 needs met"),
    "one is on its way": (NeedCounts(2, 1), "3 needs: 2 met, 1 arriving"),
    "one is held back": (NeedCounts(0, 0, 1), "1 need: 1 blocked"),
}


@pytest.mark.parametrize(("counts", "said"), DEMAND.values(), ids=DEMAND)
def test_that_all_is_met_is_said_only_where_all_is(counts: NeedCounts | None, said: str) -> None:
    assert demand_text(replace(STATUS, need_states=counts, stuck_pods=0)) == said


def test_a_shard_without_a_provider_says_so_instead_of_an_empty_table() -> None:
    sheet = Page(False, None)
    show_links(sheet, replace(STATUS, providers=(), coordinator=None), 1)
    assert sheet.text().strip().startswith("No provider: ")
    assert "PROVIDER " not in sheet.text()


def test_ids_are_neither_wrapped_nor_cut_nor_obeyed() -> None:
    long_id = "m-" + "x" * 120
    views = tuple(
        MachineView(Machine(name, MachineState.IDLE, CapacityType.SPOT), "sim")
        for name in (long_id, "evil\x1b[31m[bold]")
    )
    text = drawn(MachinePage(1, 1, 2, views), width=40)
    assert long_id in text
    assert "evil\\x1b[31m[bold]" in text
    assert "\x1b" not in text


def test_colours_are_for_those_who_want_them() -> None:
    assert "\x1b[" in drawn(PAGE, color=True)
    assert "\x1b[" not in drawn(PAGE)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "0s"),
        (0.4, "0s"),
        (119, "119s"),
        (120, "2m"),
        (7199, "120m"),
        (7200, "2h"),
        (2e5, "2d"),
    ],
)
def test_ages_have_one_number_and_its_unit(seconds: float, text: str) -> None:
    assert age_text(seconds) == text


def test_a_profile_is_told_in_few_words() -> None:
    wanted = [
        Requirement.of("topology.kubernetes.io/zone", Operator.IN, ["b", "a"]),
        Requirement.of("arch", Operator.NOT_IN, ["arm"]),
        Requirement.of("gpu", Operator.EXISTS),
        Requirement.of("old", Operator.DOES_NOT_EXIST),
        Requirement.of("topology.bigfleet/rack", Operator.SAME),
    ]
    spread = [Spread("x/host", 1, WhenUnsatisfiable.DO_NOT_SCHEDULE)]
    said = profile_text(Profile.of(wanted, spread))
    assert said == "arch!=arm, gpu, !old, same rack, zone=a|b, spread host"


def selected(*words: str) -> MachineSelector:
    term = Term()
    return selector_of(term.convert(word, None, None) for word in words)


def test_terms_of_one_key_are_alternatives() -> None:
    assert selected("state=idle,Draining", "state=failed", "zone=a", "type=std-8") == (
        MachineSelector(
            states=frozenset({MachineState.IDLE, MachineState.DRAINING, MachineState.FAILED}),
            zones=frozenset("a"),
            instance_types=frozenset({"std-8"}),
        )
    )


def test_terms_name_ids_labels_owners_and_capacity() -> None:
    assert selected("m-1", "machine/m-2").ids == {"m-1", "m-2"}
    assert selected("id=od-*").id_prefix == "od-"
    assert selected("label.rack=r1", "label.a/b=c").labels == (("rack", "r1"), ("a/b", "c"))
    assert selected("capacity=on_demand,spot").capacity_types == {3, 4}
    chosen = selected("cluster=cluster/shop", "provider=sim")
    assert (chosen.cluster, chosen.provider) == ("shop", "sim")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("state=idel",), "did you mean idle?"),
        (("capacity=gold",), "there are bare-metal, reserved, on-demand, spot"),
        (("colour=red",), "is not a term"),
        (("label.=x",), "is not a term"),
        (("zone=",), "is not a term"),
        (("cluster=a,b",), "one value"),
        (("id=a*", "id=b"), "stands alone"),
    ],
    ids=str,
)
def test_a_term_that_says_nothing_is_answered_with_what_would(
    words: tuple[str, ...], hint: str
) -> None:
    with pytest.raises(click.UsageError, match=re.escape(hint)):
        selected(*words)


def completed(*words: str) -> list[str]:
    *args, incomplete = words
    shell = ShellComplete(cli, {}, "bigfleet", "_BIGFLEET_COMPLETE")
    return [item.value for item in shell.get_completions(args, incomplete)]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("ma",), ["machines"]),
        (("machines", "st"), ["story", "state=speculative", "state=creating"]),
        (("machines", "--fa"), ["--failed"]),
        (("machines", "list", "state=dr"), ["state=draining"]),
        (("machines", "clear", "m", "--mode", "re"), ["recheck", "retry"]),
        (("pause", "--ki"), ["--kind"]),
        (("pause", "--kind", "re"), ["reclaim"]),
        (("pause", "li"), ["list"]),
        (("quarantines", "release", "ro"), ["rollup"]),
        (("status", "-o", "js"), ["json"]),
        (("needs", "--color", "al"), ["always"]),
        (("reports", "of"), ["offerings"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_a_shell_completes(words: tuple[str, ...], offered: list[str]) -> None:
    assert completed(*words)[: len(offered)] == offered


def test_completing_a_verb_imports_none() -> None:
    modules = sorted({verb.module for verb in VERBS.values()} - {"bigfleet.cli.completion"})
    code = (
        "import sys; from click.shell_completion import ShellComplete as S;"
        "from bigfleet.cli.main import cli;"
        "assert S(cli, {}, 'bigfleet', 'X').get_completions([], 's');"
        f"print(sorted(set({modules!r}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_the_verbs_load_nothing_heavy_before_they_run() -> None:
    heavy = "{'numba', 'numpy', 'grpc', 'rich', 'yaml', 'google.protobuf', 'orjson', 'msgspec'}"
    modules = ", ".join(sorted({verb.module for verb in SHARD_VERBS.values()}))
    code = f"import sys, {modules}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.parametrize("verb", SHARD_VERBS)
def test_help_teaches_by_example(verb: str) -> None:
    shown = CliRunner().invoke(cli, [verb, "--help"])
    assert shown.exit_code == 0
    assert f"bigfleet {verb}" in shown.output.partition("Options:")[0].partition("Example")[2]


def test_flags_may_stand_before_the_verb_of_a_group() -> None:
    for words in (
        ("machines", "--timeout", "1s", "story", "m-1", "--shard", "127.0.0.1:1"),
        ("machines", "-o", "json", "--shard=127.0.0.1:1", "story", "m-1"),
        ("pause", "--shard", "127.0.0.1:1", "list"),
    ):
        result = CliRunner().invoke(cli, words)
        assert (result.exit_code, "no shard answers" in result.stderr) == (3, True)


def test_the_help_of_a_group_shows_the_flags_of_what_is_meant() -> None:
    shown = CliRunner().invoke(cli, ["machines", "--help"]).output
    assert "--failed" in shown
    assert "capacity=spot" in shown
    assert "clear" in shown


def test_machines_of_no_cluster_are_not_a_cluster() -> None:
    served = ServedClusters("shard-0", {}, Counter(), Counter({"": 6, "shop": 2}))
    assert [row.cluster for row in rows_of([], {"shard-0": served})] == ["shop"]
