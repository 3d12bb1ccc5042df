"""The style sheet of report.html: two palettes, one layout; colour never stands alone."""

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
