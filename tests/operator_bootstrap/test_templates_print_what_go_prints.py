"""Rendered texts, each compared once with Go's text/template on the same values."""

import pytest

from bigfleet.operator.bootstrap.templates import RequirementWords, Template, TemplateValues

VALUES = TemplateValues(
    cluster_id="c",
    request_id="r-1",
    ca_bundle="Q0E=",
    api_server="https://api:6443",
    requirements=(RequirementWords("k", "In", ("a", "b")), RequirementWords("e", "Exists")),
)


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        ("", ""),
        ("no braces { } here", "no braces { } here"),
        ("{{ .ClusterID }} {{.RequestID}} {{ .CABundle }} {{ .APIServer }}",
         "c r-1 Q0E= https://api:6443"),
        ("<{{ .Token }}>", "<>"),
        ("{{.ClusterID}}}", "c}"),
        ("{ {{.ClusterID}} }}", "{ c }}"),
        ("{{ .ClusterID\n}}", "c"),
        ("{{ range .Requirements }}{{ .Key }} {{ .Operator }} {{ .Values }};{{ end }}",
         "k In [a b];e Exists [];"),
        ('{{range .Requirements}}{{join .Values ","}}|{{end}}', "a,b||"),
        ("{{range .Requirements}}{{join .Values `; `}}|{{end}}", "a; b||"),
        ('{{range .Requirements}}{{join .Values "\\t\\""}}|{{end}}', 'a\t"b||'),
        ("{{range .Requirements}}{{range .Values}}{{.}};{{end}}{{end}}", "a;b;"),
        ("{{range .Requirements}}{{ $.ClusterID }}{{end}}", "cc"),
        ("{{if .Requirements}}yes{{else}}no{{end}}", "yes"),
        ("{{if .Token}}yes{{else}}no{{end}}", "no"),
        ("{{if .Token}}yes{{end}}|", "|"),
        ("{{if .Token}}a{{else if .ClusterID}}b{{else}}c{{end}}", "b"),
        ("{{if .Token}}a{{else if .Token}}b{{else}}c{{end}}z", "cz"),
        ("{{range .Requirements}}{{if .Values}}v{{else}}-{{end}}{{end}}", "v-"),
        ("a {{- /* c */ -}} b\n", "ab\n"),
        ("a {{/* c */}} b|", "a  b|"),
        ("a{{- /* c */}}  b", "a  b"),
        ("{{/* a */ -}}  b", "b"),
        ("x {{- .ClusterID -}} \n y", "xcy"),
        ("x{{-\n.ClusterID}}", "xc"),
        ("a\n  {{- if .Token}}\nb{{- end}}\nc", "a\nc"),
        ("{{/*a*/}}{{- /*b*/}} q{{ .ClusterID -}}  {{- /* x */ -}}  r", " qcr"),
        ('{{ "{{" }} ds.meta_data {{ `}}` }}', "{{ ds.meta_data }}"),
    ],
)  # fmt: skip
def test_a_template_prints(source: str, printed: str) -> None:
    assert Template.parse(source).render(VALUES) == printed


def test_a_template_that_uses_what_existing_operators_offer_works() -> None:
    source = """#!/bin/sh
join-fleet --cluster={{ .ClusterID }} \\
{{- range .Requirements }}
  --want="{{ .Key }}/{{ .Operator }}/{{ .Values }}" \\
{{- end }}
  --verbose
"""
    assert Template.parse(source).render(VALUES) == (
        "#!/bin/sh\njoin-fleet --cluster=c \\\n"
        '  --want="k/In/[a b]" \\\n  --want="e/Exists/[]" \\\n  --verbose\n'
    )


def test_a_range_over_nothing_prints_its_else() -> None:
    source = "{{range .Requirements}}x{{else}}none{{end}}"
    assert Template.parse(source).render(TemplateValues(cluster_id="c")) == "none"


def test_a_template_knows_what_it_uses() -> None:
    source = "{{ if .Token }}{{ range .Requirements }}{{ $.CABundle }}{{ .Key }}{{ end }}{{ end }}"
    assert Template.parse(source).uses == {"Token", "Requirements", "CABundle"}
