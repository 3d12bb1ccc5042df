"""docs/troubleshooting.md: what to do about each reason code, from the tables of the code."""

from bigfleet.model.advice import ADVICE
from bigfleet.model.reasons import TEMPLATES
from tests.site.markdown import anchor, code, page, section, table, text
from tests.site.reasons_page import TIERS, sentences_in

_INTRODUCTION = """\
Every answer of BigFleet about something that happened, or did not, names a reason: a code such as
`supply.backoff` and a sentence. Find the code here: what it means, which command shows it, what you
can do. Reasons are told by tier, then by code: the first one is the one to act on.
[Reason codes](reference/reasons.md) has the codes in short. [An incident, step by
step](an-incident-step-by-step.md) and [questions and answers](questions.md) show the commands at
work."""
#: What a person has, what to ask then, and where the code stands.
_ENTRANCES = (
    (
        "a Need that is short or blocked",
        "`bigfleet needs --unmet`, `bigfleet why need/CLUSTER/ID`",
        "in the column REASON; at the begin of each line below the headline",
    ),
    (
        "a machine that was taken, or stays",
        "`bigfleet why machine/ID`, `bigfleet why-not machine/ID`",
        "in `-o json`; the sentence is that of the code",
    ),
    (
        "an action that was decided and not done",
        "`bigfleet why action/CYCLE.INDEX`",
        "in its disposition",
    ),
    (
        "a shortage that no other shard helps",
        "`bigfleet shards shortfalls`, the metric `bigfleet_coordinator_rebalance_blocked`",
        "in the column CODE; `rebalance.` and the label `layer`",
    ),
)


def troubleshooting_page() -> str:
    entrances = table(("you have", "ask", "the code is"), _ENTRANCES)
    parts = []
    for tier, title in TIERS.items():
        codes = [name for name, (of_tier, _) in TEMPLATES.items() if of_tier == tier]
        links = ", ".join(f"[`{name}`](#{name})" for name in codes)
        parts.append(section(f"{title} (tier {tier})", links))
        parts += [_entry(name) for name in codes]
    return page("Troubleshooting by reason code", f"{_INTRODUCTION}\n\n{entrances}", *parts)


def _entry(name: str) -> str:
    advice = ADVICE[name]
    shown = ", ".join(code(command) for command in advice.see)
    lines = (
        f"- See it: {shown}",
        f"- Do: {text(advice.todo)}.",
        f"- It says: {sentences_in(TEMPLATES[name][1])}",
    )
    title = f"{anchor(name)}`{name}`"
    return section(title, text(advice.meaning), "\n".join(lines), level=3)
