"""What would satisfy an unmet Need: the records behind ShardAdmin.Counterfactual."""

from dataclasses import dataclass, replace

from bigfleet.model.needs import NeedKey
from bigfleet.model.resources import Resources

#: Milliseconds where a question names none, and the most it may name.
BUDGET_MS = 2_000
MOST_BUDGET_MS = 30_000
#: Changes that may come together.
MOST_DEPTH = 2
#: Needs that lose, as far as they are listed; all are counted.
MOST_LOSERS = 20
#: Kinds of changes that name or touch what is not the Need's own.
_OF_OTHERS = frozenset({"hold", "reservation", "machines", "pause", "rail"})


@dataclass(frozen=True, slots=True)
class CounterfactualCall:
    #: Where only an id is known, the cluster with `id_prefix`.
    need: NeedKey
    #: 0: the last finished one.
    cycle: int = 0
    #: 0: BUDGET_MS.
    budget_ms: int = 0
    #: 0 and 1: single changes; 2: pairs of kinds too.
    depth: int = 0
    #: The first characters of a need id, instead of fingerprint and group.
    id_prefix: str = ""
    #: Whether what was tried and does not help is told.
    include_tried: bool = False


@dataclass(frozen=True, slots=True)
class ToldLoser:
    """A Need that gets less than without the change."""

    need: NeedKey
    #: What it is short of more than before, with what is preempted from it.
    lost: Resources = Resources()


@dataclass(frozen=True, slots=True)
class ToldChange:
    #: What is changed, in words.
    change: str
    #: Such as `priority`; two of a pair.
    kinds: tuple[str, ...]
    #: Of numeric kinds; 1 of others.
    amounts: tuple[int, ...]
    satisfied: bool
    #: What is still missing; nothing where it is satisfied.
    new_deficit: Resources = Resources()
    #: Billed, of what the cycle buys and gives back.
    delta_hourly_cost: float = 0.0
    #: Declared for machines that are preempted; never part of a bill.
    declared_penalties: float = 0.0
    #: Machines preempted whose penalty has no finite amount.
    pinned_victims: int = 0
    #: Machines preempted for the Need: it has them when they have drained.
    preempts: int = 0
    #: MOST_LOSERS at most.
    losers: tuple[ToldLoser, ...] = ()
    loser_count: int = 0
    #: Of the engine, to find it.
    runs: int = 0
    #: False: the time ended before less of the same was tried.
    smallest: bool = True
    #: Edits for `bigfleet whatif` that make the change; empty: none say it.
    overlay: tuple[str, ...] = ()
    #: What makes the change in the fleet: a command to copy, or what a person has to do; empty: no
    #: one command does.
    command: str = ""


@dataclass(frozen=True, slots=True)
class CounterfactualAnswer:
    #: `3:18231`.
    cycle: str
    need: NeedKey
    need_id: str
    priority: int
    #: Nothing is missing once the actions of the cycle are done, and neither a pause nor a rail
    #: holds them back: nothing was tried.
    met: bool
    #: What it is short of.
    deficit: Resources = Resources()
    #: Those that satisfy it first, then by billed dollars, then by declared ones.
    changes: tuple[ToldChange, ...] = ()
    #: False: the time or the runs were used up before everything was tried.
    exhaustive: bool = True
    runs: int = 0
    budget_ms: int = BUDGET_MS
    depth: int = 1
    #: What was not answered as asked, such as a budget beyond the most.
    notes: tuple[str, ...] = ()


def within_limits(call: CounterfactualCall) -> tuple[CounterfactualCall, tuple[str, ...]]:
    """The question with its defaults and at its limits, and what was cut, in words."""
    budget, depth = call.budget_ms or BUDGET_MS, call.depth or 1
    notes = []
    if budget > MOST_BUDGET_MS:
        notes.append(
            f"the budget is {MOST_BUDGET_MS // 1000} s at most, instead of {budget / 1000:g} s"
        )
    if depth > MOST_DEPTH:
        notes.append(f"at most {MOST_DEPTH} changes are tried together, not {depth}")
    asked = replace(call, budget_ms=min(budget, MOST_BUDGET_MS), depth=min(depth, MOST_DEPTH))
    return asked, tuple(notes)


def part_of_cluster(answer: CounterfactualAnswer, cluster: str) -> CounterfactualAnswer:
    """What a cluster may know: changes of its own Need, and who of its own loses."""
    own = [change for change in answer.changes if not _OF_OTHERS.intersection(change.kinds)]
    changes = []
    for change in own:
        losers = tuple(each for each in change.losers if each.need.cluster == cluster)
        changes.append(replace(change, losers=losers, loser_count=len(losers)))
    return replace(answer, changes=tuple(changes))
