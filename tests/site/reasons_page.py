"""docs/reference/reasons.md: every reason code, state and word of refusal."""

import re
from collections import defaultdict
from enum import Enum

from bigfleet.model.actions import Rule, UnmetReason
from bigfleet.model.need_states import NeedState
from bigfleet.model.reasons import TEMPLATES, Template
from bigfleet.provider.ledger.transitions import Reason
from tests.site.markdown import anchor, code, meanings_of, page, section, table, text

#: What reasons of a tier have in common. A lower tier is told first.
TIERS = {
    1: "What holds an action or a transfer back",
    2: "Shape: gangs and spreads",
    3: "Supply that is missing or held",
    4: "On its way",
    5: "Taken by a Need of equal or higher precedence",
    6: "Why this machine",
}
_INTRODUCTION = """\
A decision, a refusal and a wait each carry reasons: a stable code, facts, and a sentence made
from the facts. Reasons are told by tier, then by code. `bigfleet describe`, `bigfleet needs`
and `bigfleet plan` print the sentences; `-o json` has code and facts. Of the sentences of a
code the first is said whose facts are all known. What to do about each code is in
[troubleshooting](../troubleshooting.md)."""


def reasons_page() -> str:
    of_tier = defaultdict(list)
    for name, (tier, templates) in TEMPLATES.items():
        of_tier[tier].append((f"{anchor(name)}`{name}`", sentences_in(templates)))
    tiers = [
        section(f"{title} (tier {tier})", table(("code", "sentences"), of_tier[tier]))
        for tier, title in TIERS.items()
    ]
    assert set(of_tier) == set(TIERS), "a tier of model/reasons.py has no title here"
    return page(
        "Reason codes",
        _INTRODUCTION,
        *tiers,
        section(
            "States of a Need", "Shown by `bigfleet needs`, counted by alerts.", _members(NeedState)
        ),
        section(
            "Why a Need is not planned", "On the wire, for a short Need.", _members(UnmetReason)
        ),
        section("Rules by which an action was decided", _members(Rule)),
        section(
            "Why a machine is FAILED",
            "A provider's `last_error` begins with one of these.",
            _members(Reason),
        ),
    )


def sentences_in(templates: tuple[Template, ...]) -> str:
    return "<br>".join(_sentence(each) for each in templates)


def _sentence(template: Template) -> str:
    if isinstance(template, str):
        return text(_for_many(template))
    return f"*made of its facts: {(template.__doc__ or '').strip().rstrip('.')}*"


def _for_many(template: str) -> str:
    """As it is said of several: `{held} slots` for `{held:n slot}`, `are` for `{held:is/are}`."""
    counted = re.sub(r"\{(\w+):n ([^}]*)\}", r"{\1} \2s", template)
    return re.sub(r"\{\w+:[^}/]*/([^}]*)\}", r"\1", counted)


def _members(enum: type[Enum]) -> str:
    said = meanings_of(enum)
    missing = [each.name for each in enum if not said[each.name]]
    assert not missing, f"{enum.__name__}: say in a `#:` line what {missing} means"
    shown = [(each.value if isinstance(each.value, str) else each.name.lower()) for each in enum]
    rows = [(code(word), said[each.name]) for word, each in zip(shown, enum, strict=True)]
    return table(("word", "meaning"), rows)
