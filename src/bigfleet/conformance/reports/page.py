"""report.html: one file that needs nothing else, readable by day and by night.

The style sheet of report.html: two palettes, one layout; colour never stands alone.
"""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby

from bigfleet.conformance.reports.document import Account, profile_verdicts
from bigfleet.conformance.rows import RowOutcome
from bigfleet.model.instants import instant_text

STYLE = """
:root{color-scheme:light dark;--ground:#fbfbf9;--card:#fff;--ink:#1d2126;--quiet:#5c6570;
--line:#dcdfe3;--good:#1a7f4b;--bad:#b3261e;--fair:#8a6100;--none:#5c6570}
@media (prefers-color-scheme:dark){:root{--ground:#14171b;--card:#1c2127;--ink:#e6e9ed;
--quiet:#9aa4b0;--line:#323a44;--good:#5fd394;--bad:#ff8a80;--fair:#f0c060;--none:#9aa4b0}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:76rem;margin:0 auto;padding:1.5rem}
header{background:var(--card);border:1px solid var(--line);border-left:.5rem solid var(--none);
border-radius:.5rem;padding:1rem 1.5rem}
header h1{margin:0;font-size:2rem}header p{margin:.25rem 0}
header.certified{border-left-color:var(--good)}header.certified h1{color:var(--good)}
header.failed{border-left-color:var(--bad)}header.failed h1{color:var(--bad)}
header.incomplete{border-left-color:var(--fair)}header.incomplete h1{color:var(--fair)}
h2{margin:2rem 0 .5rem;font-size:1.25rem}h3{margin:0 0 .25rem;font-size:1.05rem}
.count,.tag{display:inline-block;margin:.15rem .75rem .15rem 0}
.tag{border:1px solid var(--line);border-radius:1rem;padding:0 .75rem;background:var(--card)}
.passed,.certified{color:var(--good)}.failed{color:var(--bad)}
.skipped{color:var(--fair)}.not_implemented{color:var(--none)}.incomplete{color:var(--fair)}
.quiet{color:var(--quiet);font-size:.9rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:1rem 0}
dt{color:var(--quiet)}dd{margin:0}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid var(--line)}
th[colspan]{padding-top:1.2rem}
.number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.chip{display:inline-block;margin:.1rem;padding:0 .5rem;border:1px solid currentColor;
border-radius:.3rem;text-decoration:none;font:.85rem/1.6 ui-monospace,monospace;
background:var(--card)}
.chip:hover,.chip:focus{outline:2px solid currentColor}
article{background:var(--card);border:1px solid var(--line);border-left:.3rem solid var(--bad);
border-radius:.5rem;padding:1rem;margin:0 0 1rem}
.reason{font-weight:600;overflow-wrap:anywhere}
code,.calls{font-family:ui-monospace,monospace;font-size:.85rem}
.calls td{overflow-wrap:anywhere;min-width:4rem}.wide{overflow-x:auto}
.bars{display:flex;align-items:flex-end;gap:2px;height:48px;border-bottom:0}
.bars i{display:block;width:14px;min-height:1px;background:var(--quiet)}
tr:target{outline:2px solid var(--fair)}
""".strip()


MARKS = {"passed": "\u2713", "failed": "\u2717", "skipped": "\u2013", "not_implemented": "?"}
WORDS = {
    "passed": "passed",
    "failed": "failed",
    "skipped": "skipped",
    "not_implemented": "not run",
}


def report_html(account: Account) -> str:
    title = f"{account.provider}: {account.verdict.word}"
    body = "\n".join(
        (
            _header(account),
            _matrix(account.outcomes),
            _failures(account.outcomes),
            _rows(account.outcomes),
            _latencies(account),
        )
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


def _header(account: Account) -> str:
    counts = " ".join(
        f'<span class="count {status}">{_number(account.outcomes, status)} {word}</span>'
        for status, word in WORDS.items()
    )
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in account.verdict.reasons)
    verdicts = " ".join(
        f'<span class="tag {word.lower()}">{escape(profile)}: {word}</span>'
        for profile, word in profile_verdicts(account).items()
    )
    facts = {
        "provider": account.provider,
        "time": instant_text(account.at // 10**9 * 10**9),
        "seed": str(account.seed),
        "assertions": account.assertions,
        **account.findings.capabilities.dialects(),
    }
    listed = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    return (
        f'<header class="{account.verdict.word.lower()}"><h1>{account.verdict.word}</h1>'
        f"<p>{escape(account.provider)}</p><p>{counts}</p></header>"
        f"<p>{verdicts}</p>{f'<ul>{reasons}</ul>' if reasons else ''}<dl>{listed}</dl>"
    )


def _number(outcomes: Sequence[RowOutcome], status: str) -> int:
    return sum(outcome.status == status for outcome in outcomes)


def _by_area(outcomes: Iterable[RowOutcome]) -> list[tuple[str, list[RowOutcome]]]:
    return [(area, list(group)) for area, group in groupby(outcomes, key=lambda o: o.row.area)]


def _matrix(outcomes: Sequence[RowOutcome]) -> str:
    lines = [
        f'<tr><th scope="row">{escape(area)}</th><td>{"".join(map(_chip, group))}</td>'
        f'<td class="number">{_number(group, "passed")}/{len(group)}</td></tr>'
        for area, group in _by_area(outcomes)
    ]
    return f'<h2>Areas</h2><table class="matrix">{"".join(lines)}</table>'


def _chip(outcome: RowOutcome) -> str:
    row = outcome.row
    name = row.id.removeprefix("TestConformance_")
    hint = f"{row.title}. {WORDS[outcome.status]}. {outcome.reason}".strip()
    return (
        f'<a class="chip {outcome.status}" href="#{escape(row.id)}" title="{escape(hint)}">'
        f'<span aria-hidden="true">{MARKS[outcome.status]}</span> {escape(name)}</a>'
    )


def _failures(outcomes: Sequence[RowOutcome]) -> str:
    failed = [outcome for outcome in outcomes if outcome.status == "failed"]
    if not failed:
        return ""
    return "<h2>What failed</h2>" + "".join(map(_failure, failed))


def _failure(outcome: RowOutcome) -> str:
    replay = (
        f"<p>Again: <code>bigfleet conformance ... {escape(outcome.replay)}</code></p>"
        if outcome.replay
        else f"<p>Again: <code>bigfleet conformance ... --only {escape(outcome.row.id)}</code></p>"
    )
    calls = "".join(
        "<tr>"
        + "".join(
            f"<td>{escape(str(call[key]))}</td>"
            for key in ("at_ms", "method", "request", "code", "response", "ms")
        )
        + "</tr>"
        for call in outcome.wire_log
    )
    head = "".join(
        f"<th>{name}</th>" for name in ("at ms", "call", "request", "code", "answer", "took ms")
    )
    return (
        f"<article><h3>{escape(outcome.row.id)}: {escape(outcome.row.title)}</h3>"
        f'<p class="reason">{escape(outcome.reason)}</p>{replay}'
        f"<details><summary>The last {len(outcome.wire_log)} calls</summary>"
        f'<div class="wide"><table class="calls"><tr>{head}</tr>{calls}</table></div></details>'
        "</article>"
    )


def _rows(outcomes: Sequence[RowOutcome]) -> str:
    lines = []
    for area, group in _by_area(outcomes):
        lines.append(f'<tr><th colspan="4" scope="colgroup">{escape(area)}</th></tr>')
        lines.extend(_line(outcome) for outcome in group)
    return f'<h2>Rows</h2><div class="wide"><table class="rows">{"".join(lines)}</table></div>'


def _line(outcome: RowOutcome) -> str:
    row = outcome.row
    reason = f'<br><span class="quiet">{escape(outcome.reason)}</span>' if outcome.reason else ""
    return (
        f'<tr id="{escape(row.id)}"><td class="{outcome.status}">{MARKS[outcome.status]} '
        f"{WORDS[outcome.status]}</td><td><code>{escape(row.id)}</code></td>"
        f'<td>{escape(row.title)}{reason}</td><td class="number">{outcome.duration_ms:,.0f} ms</td>'
        "</tr>"
    )


def _latencies(account: Account) -> str:
    lines = []
    for method, counts in account.findings.latencies.counts.items():
        top = max(counts) or 1
        bars = "".join(
            f'<i style="height:{round(40 * n / top)}px" title="{n}"></i>' for n in counts
        )
        lines.append(
            f'<tr><th scope="row">{escape(method)}</th><td class="bars">{bars}</td>'
            f'<td class="number">{sum(counts):,} calls</td></tr>'
        )
    if not lines:
        return ""
    note = '<p class="quiet">1, 2, 5, 10, 20, 50, 100, 250, 500 ms, 1, 2, 5 s and more.</p>'
    return f"<h2>Latencies</h2>{note}<table>{''.join(lines)}</table>"
