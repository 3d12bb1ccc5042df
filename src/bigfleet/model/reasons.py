"""Reasons: why something was decided, refused or held back, as facts with a sentence.

A code is stable and has a tier; reasons are ordered by tier and then by code, so that the first one
does not flap while lower ones change. The sentence is made from the facts by the templates below,
never the other way round: the first template whose facts are all there speaks.
"""

import string
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from bigfleet.model.finding_sentences import FINDING_TEMPLATES
from bigfleet.model.quantities import BadQuantity, quantity_of, readable_text

Facts = Mapping[str, Any]
#: A text with fields, or a function that says None where its facts are not there.
Template = str | Callable[[Facts], str | None]


def _acquired_sentence(facts: Facts) -> str | None:
    """What was acquired, at which cost, for which Need; its rank and what came next, if known."""
    if "pricePerHour" not in facts:
        return None
    idle = facts.get("state") == "Idle"
    if "effectiveCost" in facts:
        what = (
            f"{'idle' if idle else 'speculative'} match at"
            f" {dollars_text(facts['effectiveCost'])} effective"
            f" ({dollars_text(facts['pricePerHour'])}/h + {facts['interruptionProbability']:g}"
            f" x {dollars_text(facts['penaltyDollars'])} declared)"
        )
    else:
        what = f"idle match at {dollars_text(facts['pricePerHour'])}/h"
    what += f" for {facts['need']}"
    if "rank" not in facts:
        return what
    rank, taken, matches = facts["rank"], facts["taken"], facts["matches"]
    if matches <= 1:
        place = "the only one free"
    elif rank > taken:
        place = f"number {rank} by cost of {matches} free"
    elif taken == matches:
        place = f"all {matches} free ones are taken"
    elif taken == 1:
        place = f"cheapest of {matches} free"
    else:
        place = f"one of the {taken} cheapest of {matches} free"
    where = f" in {facts['domainKey']} {facts['domain']}" if "domain" in facts else ""
    after = ""
    if "next" in facts:
        after = f"; next {facts['next']} at {dollars_text(facts['nextCost'])}"
        if facts["nextState"] == "Speculative" and idle:
            after += " effective, to be bought"
    return f"{what}: {place}{where}{after}"


def _empty_excess_sentence(facts: Facts) -> str | None:
    """The excess machine, where nothing runs on it."""
    if not facts.get("empty") or "machine" not in facts:
        return None
    return (
        f"cluster {facts['cluster']} claims {facts['claimed']} of its {facts['configured']}"
        f" Configured machines; {facts['machine']} at {dollars_text(facts['pricePerHour'])}/h, on"
        " which nothing runs, comes after them in keep order"
    )


#: code -> (tier, templates). A field `{x:$}` is dollars, `{x:res}` a resource map, `{x:names}` a
#: list of names, `{x:time}` seconds as people say them, `{x:num}` a number of up to 4 decimals,
#: `{x:n machine}` so many machines, `{x:is/are}` the word for one, or for any other number.
TEMPLATES: dict[str, tuple[int, tuple[Template, ...]]] = {
    "rail.paused": (
        1,
        (
            "{scope} is paused by {owner} since {since}, {ends}: {why}",
            "paused by {owner} since {since}: {why}",
            "paused by {owner}: {why}",
            "actuation is paused",
        ),
    ),
    "rail.dry-run": (1, ("dry-run: decided, not executed",)),
    "rail.reclaim-cap": (
        1,
        ("cluster {cluster} loses at most {cap} of its {configured} machines at a time",),
    ),
    "rail.preempt-cap": (
        1,
        ("cluster {cluster} loses at most {cap} of its {configured} machines a minute to others",),
    ),
    "rail.quarantine.rollup": (
        1,
        (
            "roll-ups of cluster {cluster} are held as suspicious since {since} ({what}): it keeps"
            " its machines, and is believed if it says the same after {until}",
            "the last roll-up of cluster {cluster} is held as suspicious",
        ),
    ),
    "rail.quarantine.list": (
        1,
        (
            "Lists of provider {provider} are held as suspicious since {since} ({what}): no machine"
            " is removed, and they are believed if they say the same after {until}",
            "the last List of provider {provider} is held as suspicious",
        ),
    ),
    "rail.first-rollup": (1, ("cluster {cluster} has not reported yet",)),
    "rail.verifier": (
        1,
        (
            "vetoed by the verifier ({invariant}): {what}; {remedy}",
            "vetoed by the verifier: {invariant}",
        ),
    ),
    "rail.pending": (1, ("an earlier {pending} of {machine} is still under way",)),
    "rail.raced": (1, ("{machine} is {state} by now; a {kind} needs it {wanted}",)),
    "rail.breaker": (
        1,
        (
            "provider {provider} has not answered since {since} ({error}); nothing new is asked of"
            " it",
            "provider {provider} does not answer; nothing new is asked of it",
        ),
    ),
    "rail.no-operator": (
        1,
        (
            "cluster {cluster} has not been connected since {since}: its operator must hand out"
            " what machines join with",
            "cluster {cluster} is not connected: its operator must hand out what machines join"
            " with",
        ),
    ),
    "rail.backoff": (
        1,
        (
            "offering {offering} rests since {since} after failed Creates ({what}): nothing is"
            " bought there before {until}; so {others:does/do} {others} more",
            "offering {offering} rests since {since} after failed Creates ({what}): nothing is"
            " bought there before {until}",
            "{subject} rests for {left:time} more after {what}",
            "{subject} rests after {what}",
        ),
    ),
    "rail.unseen": (
        1,
        ("the last Lists of {provider} did not name {machine}; it is left alone until one does",),
    ),
    "rail.rebound": (
        1,
        ("a held List of {provider} shows another binding of {machine}; it is left alone",),
    ),
    "rail.unowned": (1, ("{machine} is another shard's by now; it is left alone",)),
    "rail.quota": (
        1,
        ("all {allocated:n machine} granted of {provider} in {region} {allocated:is/are} in use",),
    ),
    "rail.no-session": (1, ("cluster {cluster} is not connected; its Reclaims wait for it",)),
    "rail.store": (
        1,
        (
            "coordinator {replica} cannot write its store ({problem}): nothing is changed there,"
            " and shards go on with what they have",
            "state.db cannot be written ({problem}); no new drain is begun",
        ),
    ),
    "rail.max-actions": (
        1,
        ("{budget} actions a cycle, and more urgent ones came first; the next cycle follows",),
    ),
    "rail.queue-full": (1, ("{room} more actions fit into the queue, and others came first",)),
    "rail.thrash-hold": (
        1,
        (
            "held for {left:time} more: {finding} (`bigfleet reports thrash --witness {number}`)",
            "held for {left:time} more: its machines went back and forth",
        ),
    ),
    "rebalance.off": (1, ("machines do not move between shards: {why}",)),
    "rebalance.age": (1, ("short for {age:n cycle}, and {cycles} may pass before others help",)),
    "rebalance.persistence": (1, ("named as short by {streak} of the last 2 syncs",)),
    "rebalance.topology": (1, ("must share one {key}, and that never crosses shards",)),
    "rebalance.receiver": (1, ("{shard} {why}",)),
    "rebalance.open": (
        1,
        (
            "transfer {transfer} for it is {state}; the next sweep looks at what is left",
            "transfer {transfer} is under way for it",
        ),
    ),
    "rebalance.sweep": (
        1,
        (
            "nothing speaks against it; one sweep changes {rows} rows at most, the next goes on",
            "no sweep has looked at it yet; one begins every {interval:time}",
        ),
    ),
    "rebalance.cooldown": (
        1,
        (
            "{shard} rests for {left:time} more after the last transfer for it",
            "{shard} rests for {cycles} more cycles after the last transfer for it",
        ),
    ),
    "rebalance.progress": (
        1,
        (
            "{count} transfers in a row left it as short as it was; nothing is moved for it for"
            " {left:time}",
        ),
    ),
    "rebalance.donor": (1, ("{shard} {why}", "no other shard has machines that may match")),
    "rebalance.declined": (
        1,
        ("{shard} had nothing to give; it is asked again in {left:time}",),
    ),
    "rebalance.direction": (
        1,
        ("{shard} got such machines from {receiver}; none goes back for {left:time}",),
    ),
    "rebalance.margin": (
        1,
        (
            "{shard} keeps {margin} of the {matching} machines that may match",
            "{shard} is short of such machines itself",
            "{shard} got such machines itself, or asked for them, and rests for {left:time}",
        ),
    ),
    "rebalance.rate": (
        1,
        ("{given} of the {machines} machines of {shard} leave within an hour; {most} may",),
    ),
    "rebalance.stay": (1, ("{machine} was moved and stays for {left:time} more",)),
    "rebalance.elsewhere": (
        1,
        ("{machine} is in transfer {transfer}", "{machine} {why}"),
    ),
    "rebalance.drain": (
        1,
        (
            "no free machine elsewhere may match, and those in use are drained only for what is"
            " short for more than {cycles} cycles, not {age}",
            "no free machine elsewhere may match; {budget} of those in use are drained per sweep,"
            " and as many are",
            "no free machine elsewhere may match, and for those in use rebalance.drain is off",
        ),
    ),
    "rebalance.idle": (
        1,
        ("{machine} has been idle for {idle:time} and goes home after {hold:time}",),
    ),
    "same.no-domain": (
        2,
        ("must share one {key}, and no value of it has a machine that is its own or free",),
    ),
    "same.too-small": (
        2,
        (
            "{key} {domain} offers {offered:res} of {wanted:res}; next best {nextDomain}"
            " with {nextOffered:res}",
            "{key} {domain} offers {offered:res} of {wanted:res}; no other {key} fits",
            "must share one {key}; the best, {domain}, has {percent} % of it",
        ),
    ),
    "same.parked": (
        2,
        (
            "parked after {age} cycles without progress: keeps what it has, next tries at"
            " age {probeAge}",
            "parked: keeps what it has, acquires nothing",
        ),
    ),
    "spread.skew": (
        2,
        (
            "{free} free machines in {domains:names} would exceed a skew of {maxSkew} over {key}:"
            " {lowest} has only {minimum} and nothing left",
            "what is free would exceed the skew of its spread over {key}",
        ),
    ),
    "supply.none": (
        3,
        (
            "{held:n machine} that {held:fits/fit} {held:is/are} held ({by})",
            "none of the {unfit} machines of the shard fits",
            "none of the {machines} machines of the shard is Idle, Speculative or Configured",
            "everything that fits is in use",
        ),
    ),
    "supply.requirement": (
        3,
        ("{rejected} of {machines} machines fail {requirement}; {example} has {value}",),
    ),
    "supply.min-unit": (
        3,
        (
            "{rejected} machines match but are too small: {dimension} {have} allocatable, {want}"
            " needed ({example})",
        ),
    ),
    "supply.backoff": (
        3,
        (
            "{held:n slot} that {held:fits/fit} {held:is/are} in back-off until {until} after"
            " failed creates ({offering}: {what})",
            "{held:n slot} that {held:fits/fit} {held:is/are} in back-off until {until} after"
            " failed creates",
            "{held:n slot} that {held:fits/fit} {held:is/are} in back-off after failed creates",
        ),
    ),
    "supply.quota": (
        3,
        (
            "{held:n slot} that {held:fits/fit} {held:is/are} beyond the quota of {provider} in"
            " {region}: {inUse} of the {allocated:n machine} granted {inUse:is/are} in use",
            "{held:n slot} that {held:fits/fit} {held:is/are} beyond the quota",
        ),
    ),
    "flight.ordered": (
        4,
        (
            "{count:n machine} {count:is/are} ordered and {count:waits/wait} for"
            " {count:its/their} turn",
        ),
    ),
    "flight.creating": (
        4,
        (
            "{count:n machine} {count:is/are} being created for it ({capacity:res})",
            "{count:n machine} {count:is/are} being created for it",
        ),
    ),
    "flight.configuring": (
        4,
        (
            "{count:n machine} {count:is/are} being configured ({capacity:res})",
            "{count:n machine} {count:is/are} being configured",
        ),
    ),
    "flight.joining": (
        4,
        (
            "{count:n machine} {count:is/are} Configured and"
            " {count:its Node takes/their Nodes take} no pods yet",
        ),
    ),
    "flight.stalled": (
        4,
        (
            "nothing of it has moved for {age:time}; {count:n machine} {count:is/are} {step},"
            " which takes at most {p95:time} in 95 of 100 cases",
            "nothing of it has moved for {age:time}; {count:n machine} {count:is/are} {step}",
        ),
    ),
    "flight.failing": (
        4,
        (
            "{failures:n action} for it {failures:has/have} failed in a row since {since}; the"
            " last: {kind} of {machine}: {outcome}{what}",
        ),
    ),
    "pods.margin": (
        4,
        ("{pods:n pod} {pods:does/do} not fit on its machines; more are on their way",),
    ),
    "pods.stuck": (
        4,
        (
            "its machines are there, and {pods:n pod} {pods:waits/wait}: the scheduler refuses"
            " {pods:it/them}",
        ),
    ),
    "flight.draining": (
        4,
        (
            "{victims:n machine} {victims:is/are} preempted for it now and"
            " {victims:becomes/become} free within {grace:time}",
            "{count:n victim} {count:drains/drain} for it ({capacity:res})",
            "what it lacks is draining and becomes free for it",
        ),
    ),
    "flight.reserved": (
        4,
        (
            "{count:n machine} that {count:fits/fit} {count:is/are} reserved for others",
            "{own:n machine} {own:is/are} reserved for it",
        ),
    ),
    "claim.higher": (
        5,
        (
            "{need} (priority {preemptorPriority}) has no machine and finds none: it takes {domain}"
            " whole, {victims} machines together, this one of priority {victimPriority}; grace"
            " {graceSeconds:time}",
            "{need} (priority {preemptorPriority}) outranks this machine's priority"
            " {victimPriority} by {gap}: score {score:num} = {gapTerm:num} gap + {drainTerm:num}"
            " drain + {interruptionTerm:num} interruption + {reclamationTerm:num} reclamation;"
            " grace {graceSeconds:time}",
            "{count:n machine} that {count:fits/fit} {count:is/are} held by {holder} (priority"
            " {priority}) and {others:n more Need} of higher precedence",
            "{count:n machine} that {count:fits/fit} {count:is/are} held by {holder} (priority"
            " {priority})",
            "everything that fits serves Needs of equal or higher precedence",
        ),
    ),
    "claim.earlier": (
        5,
        (
            "{count:n machine} that {count:fits/fit} {count:is/are} held by {holder} and"
            " {others:n more Need} of equal precedence that came first",
            "{count:n machine} that {count:fits/fit} {count:is/are} held by {holder}, of equal"
            " precedence, which came first",
        ),
    ),
    "preempt.exhausted": (
        5,
        ("preempts {victims:n machine}, still short of {unresolved:res}: no other victim fits",),
    ),
    "preempt.none-lower": (
        5,
        (
            "none of the {configured} Configured machines that fit has a priority below"
            " {priority}; the lowest is {lowest}",
        ),
    ),
    "cost.rank": (
        6,
        (
            _acquired_sentence,
            "acquires {bootstraps} idle and {provisions} speculative machines, cheapest first",
        ),
    ),
    "keep.order": (
        6,
        (
            "already served by {kept:n machine} of cluster {cluster}, cheapest kept first",
            "served by {machines:n machine}",
            "asks for nothing",
        ),
    ),
    "hold.idle": (
        6,
        (
            "no Need claims it; idle for {idleSeconds:time}, and {capacityType} is kept for"
            " {holdSeconds:time}",
        ),
    ),
    "never.released": (6, ("{capacityType} capacity is never released",)),
    "excess": (
        6,
        (
            "leaving anyway: cluster {cluster} claims {claimed} of its {configured} Configured"
            " machines, and {victim} is not among them",
            _empty_excess_sentence,
            "cluster {cluster} claims {claimed} of its {configured} Configured machines; {machine}"
            " at {pricePerHour:$}/h comes after them in keep order",
        ),
    ),
    **FINDING_TEMPLATES,
}


@dataclass(frozen=True, slots=True)
class Reason:
    code: str
    facts: Facts = field(default_factory=dict)
    #: Object names such as `machine/od-0117`.
    refs: tuple[str, ...] = ()
    #: The cycle the reason speaks about.
    cycle: str = ""

    @property
    def tier(self) -> int:
        return TEMPLATES[self.code][0]

    @property
    def text(self) -> str:
        return sentence_of(self.code, self.facts)

    @property
    def told(self) -> "ToldReason":
        facts = {name: str(value) for name, value in self.facts.items()}
        return ToldReason(self.code, self.text, facts, self.refs)

    def document(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "tier": self.tier,
            "text": self.text,
            "facts": dict(self.facts),
            "refs": list(self.refs),
            "cycle": self.cycle,
        }


@dataclass(frozen=True, slots=True)
class ToldReason:
    """A reason as it travels: the sentence is made, facts are texts."""

    code: str
    text: str
    facts: Mapping[str, str] = field(default_factory=dict)
    refs: tuple[str, ...] = ()

    @property
    def told(self) -> "ToldReason":
        """As it is."""
        return self


def ordered(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """By tier, then code; reasons of one code keep their order."""
    return tuple(sorted(reasons, key=lambda r: (r.tier, r.code)))


def sentence_of(code: str, facts: Facts) -> str:
    for template in TEMPLATES[code][1]:
        if not isinstance(template, str):
            if sentence := template(facts):
                return sentence
            continue
        pieces, last = _pieces_of(template)
        if all(name in facts for _, name, _ in pieces):
            said = (text + _SENTENCES.format_field(facts[name], how) for text, name, how in pieces)
            return "".join(said) + last
    return code


@cache
def _pieces_of(template: str) -> tuple[tuple[tuple[str, str, str], ...], str]:
    """Each field with the text before it and how it is written, and the text after the last.

    Taken apart once: a page of Needs has thousands of sentences.
    """
    parts = [(text, name or "", how or "") for text, name, how, _ in _SENTENCES.parse(template)]
    last = parts.pop()[0] if parts and not parts[-1][1] else ""
    return tuple(parts), last


def dollars_text(amount: float | str) -> str:
    """`$0.38`, with as many digits as the amount needs; words such as `infinite` stay."""
    if isinstance(amount, str):
        return amount
    whole, _, part = f"{amount:,.4f}".partition(".")
    return f"${whole}.{part.rstrip('0').ljust(2, '0')}"


def number_text(value: float) -> str:
    """`99000.1283`: up to four decimals, and never a power of ten."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


def duration_text(seconds: float) -> str:
    """`45 s`, `2 min`, `1 h 5 min`."""
    if seconds < 120:
        return f"{seconds:g} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{hours} h"] * (hours > 0) + [f"{minutes} min"] * (minutes > 0)
    return " ".join(parts + [f"{rest} s"] * (rest > 0 and not hours))


def resources_text(amounts: Mapping[str, str]) -> str:
    """`cpu 1093.5, memory 64Gi`; the amounts come as canonical quantities."""
    said = (f"{name} {_amount_text(name, text)}" for name, text in amounts.items())
    return ", ".join(said) or "nothing"


def _amount_text(name: str, text: str) -> str:
    try:
        return readable_text(name, quantity_of(name, text))
    except BadQuantity:
        return text  # a reason may come from another version


class _Sentences(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        match format_spec:
            case "$":
                return dollars_text(value)
            case "res":
                return resources_text(value)
            case "names":
                return ", ".join(value)
            case "num":
                return number_text(value)
            case "time":
                return duration_text(value)
            case _ if format_spec.startswith("n "):
                noun = format_spec.removeprefix("n ")
                return f"{value} {noun}" if value == 1 else f"{value} {noun}s"
            case _ if "/" in format_spec:
                one, _, many = format_spec.partition("/")
                return one if value == 1 else many
            case _:
                return str(super().format_field(value, format_spec))


_SENTENCES = _Sentences()
