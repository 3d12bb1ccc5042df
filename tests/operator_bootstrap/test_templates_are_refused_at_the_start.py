"""What is not a template of ours stops the start and says where, what, and what would do."""

import pytest

from bigfleet.operator.bootstrap.templates import BadTemplate, Template


@pytest.mark.parametrize(
    ("source", "line", "column", "problem"),
    [
        ("a\n b {{ .ClusterId }}", 2, 4, ".ClusterId is not known of the request"),
        ("{{ .Key }}", 1, 1, ".Key is not known of the request"),
        ("{{ . }}", 1, 1, ". is not known of the request"),
        ("{{ $ }}", 1, 1, "$ is not known of the request"),
        ("{{ $x }}", 1, 1, "is not known"),
        ("{{range .Requirements}}{{.ClusterID}}{{end}}", 1, 24, "write $.ClusterID"),
        ("{{ .Requirements }}", 1, 1, "is not printed, range it"),
        ('{{ printf "%s" .ClusterID }}', 1, 1, "is not known"),
        ("{{ .ClusterID | html }}", 1, 1, "is not known"),
        ("{{ (.ClusterID) }}", 1, 1, "is not known"),
        ('{{ if eq .ClusterID "a" }}{{ end }}', 1, 1, "if takes one field"),
        ('{{ join .ClusterID "," }}', 1, 1, "only .Values of a requirement can be joined"),
        ('{{ join .Requirements "," }}', 1, 1, "only .Values of a requirement can be joined"),
        ("{{range .Requirements}}{{join .Values}}{{end}}", 1, 24, 'write {{ join .Values "," }}'),
        ('{{range .Requirements}}{{join .Values "\\x"}}{{end}}', 1, 24, "is not text"),
        ("{{ range .ClusterID }}{{ end }}", 1, 1, ".ClusterID is not a list"),
        ("{{ template `x` }}", 1, 1, "is not known"),
        ("{{ define `x` }}{{ end }}", 1, 1, "is not known"),
        ("{{ with .Token }}{{ end }}", 1, 1, "is not known"),
        ("{{}}", 1, 1, "is empty"),
        ("\n\n{{ .Unclosed ", 3, 1, "never closed with }}"),
        ("{{", 1, 1, "never closed with }}"),
        ("{{-", 1, 1, "never closed with }}"),
        ("{{/* x", 1, 1, "the comment is never closed"),
        ("{{/*a*/.ClusterID}}", 1, 1, "nothing may follow a comment"),
        ("{{ /* c */ }}", 1, 1, "is not known"),
        ("{{ end }}", 1, 1, "closes nothing"),
        ("{{ else }}", 1, 1, "closes nothing"),
        ("a{{ if .Token }}b", 1, 2, "is never closed with {{ end }}"),
        ("{{ if .Token }}{{ else }}{{ else }}{{ end }}", 1, 26, "cannot stand here"),
        ("{{ if .Token }}{{ else range .Requirements }}{{ end }}", 1, 16, "is not known"),
        ("{{-.ClusterID}}", 1, 1, "is not known"),
    ],
)  # fmt: skip
def test_a_bad_template_is_refused_with_its_place(
    source: str, line: int, column: int, problem: str
) -> None:
    with pytest.raises(BadTemplate) as refused:
        Template.parse(source)
    assert (refused.value.line, refused.value.column) == (line, column)
    assert problem in str(refused.value)


def test_the_refusal_says_what_is_allowed() -> None:
    with pytest.raises(BadTemplate, match=r"allowed are \{\{ \.ClusterID \}\}, .*\.APIServer"):
        Template.parse("{{ .Nothing }}")
