"""Flips in Phase 2 (2.5, U1, U2, U16, U18)."""

from tests.mutants.mutant import Mutant

_VICTIMS = "kernels/victims.py"

PREEMPTION = (
    Mutant(
        "Phase 2 goes by demand order, not by precedence (U22)",
        "decide.py",
        "    queue = still_short(order, credit)",
        "    queue = np.sort(still_short(order, credit))",
    ),
    Mutant(
        "a victim may be of equal priority",
        _VICTIMS,
        "priority[v] >= own_priority",
        "priority[v] > own_priority",
    ),
    Mutant(
        "a claimed machine has the priority it was stamped with (U1)",
        "preemption.py",
        "np.where(holder >= 0, needs.priority[holder]",
        "np.where(holder < -1, needs.priority[holder]",
    ),
    Mutant(
        "excess is taken last",
        _VICTIMS,
        "return bool(victims.excess[a])",
        "return bool(victims.excess[b])",
    ),
    Mutant(
        "what a cluster that has not reported leaves unclaimed is excess",
        "preemption.py",
        "excess = (holder < 0) & ready[columns.cluster[rows]]",
        "excess = holder < 0",
    ),
    Mutant(
        "the lowest score is the first victim",
        _VICTIMS,
        "return bool(scores[a] > scores[b])",
        "return bool(scores[a] < scores[b])",
    ),
    Mutant(
        "at equal score the last id is the first victim",
        _VICTIMS,
        "victims.rows[cursor[a]] < victims.rows[cursor[b]]",
        "victims.rows[cursor[a]] > victims.rows[cursor[b]]",
    ),
    Mutant(
        "the gap in priority does not enter the score",
        _VICTIMS,
        "score = float(gap) * weights[0]",
        "score = 0.0 * weights[0]",
    ),
    Mutant(
        "the interruption penalty does not enter the score",
        _VICTIMS,
        "score += weights[2] / max(0.01, interruption)",
        "score += weights[2] / 0.01",
    ),
    Mutant(
        "the reclamation penalty does not enter the score",
        _VICTIMS,
        "score += weights[3] / max(0.01, reclamation)",
        "score += weights[3] / 0.01",
    ),
    Mutant(
        "a penalty of nothing weighs like half a dollar",
        _VICTIMS,
        "score += weights[2] / max(0.01, interruption)",
        "score += weights[2] / max(0.5, interruption)",
    ),
    Mutant(
        "grace: a gap of exactly 900000 gets ten seconds",
        _VICTIMS,
        "if gap > 900000:",
        "if gap >= 900000:",
    ),
    Mutant(
        "grace: a gap of exactly 500000 gets thirty seconds",
        _VICTIMS,
        "if gap > 500000:",
        "if gap >= 500000:",
    ),
    Mutant(
        "grace: a gap of exactly 100000 gets two minutes",
        _VICTIMS,
        "if gap > 100000:",
        "if gap >= 100000:",
    ),
    Mutant(
        "victims still draining do not count (U2)",
        "preemption.py",
        "for n in queue.tolist() if left else ():",
        "for n in ():",
    ),
    Mutant(
        "one draining victim counts for several Needs of an identity",
        "preemption.py",
        "waiting = left.get(int(needs.identity[n]), [])",
        "waiting = list(left.get(int(needs.identity[n]), []))",
    ),
    Mutant(
        "a parked gang preempts",
        "preemption.py",
        "short & ~needs.parked[queue])",
        "short)",
    ),
    Mutant(
        "a gang without a domain preempts nothing (U26)",
        _VICTIMS,
        "            if chosen < 0:\n",
        "            if chosen < 2**40:\n",
    ),
    Mutant(
        "half a domain is taken (U26)",
        _VICTIMS,
        "return (count if covered else 0), highest",
        "return count, highest",
    ),
    Mutant(
        "of a domain to be taken the highest machines go first (U26)",
        _VICTIMS,
        "or victims.priority[v] < victims.priority[lowest]",
        "or victims.priority[v] > victims.priority[lowest]",
    ),
    Mutant(
        "of equals of a domain to be taken the last id goes first (U26)",
        _VICTIMS,
        "and victims.rows[cursor[v]] < victims.rows[cursor[lowest]]",
        "and victims.rows[cursor[v]] > victims.rows[cursor[lowest]]",
    ),
    Mutant(
        "the domain with the highest victim is taken (U26)",
        _VICTIMS,
        "or highest < best_priority",
        "or highest > best_priority",
    ),
    Mutant(
        "the domain with the most victims is taken (U26)",
        _VICTIMS,
        "(highest == best_priority and count < best_count)",
        "(highest == best_priority and count > best_count)",
    ),
    Mutant(
        "at equal cost the last domain is taken (U26)",
        _VICTIMS,
        "(highest == best_priority and count < best_count)",
        "(highest == best_priority and count <= best_count)",
    ),
    Mutant(
        "a gang takes of a domain only what its deficit leaves (U26)",
        _VICTIMS,
        "is_covered(left if homeless else unresolved[n])",
        "is_covered(unresolved[n])",
    ),
    Mutant(
        "it is not told which victims go together (U26)",
        _VICTIMS,
        "whole_domain[n] = True",
        "whole_domain[n] = False",
    ),
    Mutant(
        "a gang preempts outside its domain",
        _VICTIMS,
        "domain_of_kind[same, kind] != domain[n]",
        "domain_of_kind[same, kind] < 0",
    ),
    Mutant(
        "victims of a spread Need: machines acquired this cycle do not count (U18)",
        _VICTIMS,
        "for i in range(len(taken)):",
        "for i in range(0):",
    ),
    Mutant(
        "victims of a spread Need: those still draining do not count (U18)",
        _VICTIMS,
        "for i in range(len(draining)):",
        "for i in range(0):",
    ),
    Mutant(
        "victims of a spread Need: a domain with candidates only does not exist (U18)",
        _VICTIMS,
        "for u in range(live):\n                exists",
        "for u in range(0):\n                exists",
    ),
    Mutant(
        "victims of a spread Need: the skew is one too wide (U18)",
        _VICTIMS,
        "slack = max(np.int64(1), needs.skew[n]) - 1",
        "slack = max(np.int64(1), needs.skew[n])",
    ),
    Mutant(
        "a machine is preempted and reclaimed in one cycle (U16)",
        "release.py",
        "free[preempted] = False",
        "free[preempted[:0]] = False",
    ),
)
