"""Which domain serves a gang: totals per domain, compared rule by rule."""

import numpy as np

from bigfleet.engine.kernels.compiled import (
    FloatTable,
    Int,
    Int32s,
    Int64s,
    Int64Table,
    kernel,
    step,
)
from bigfleet.engine.kernels.vectors import covers


@step
def coverage(total: Int64s, wanted: Int64s, most: float) -> float:
    """Sum over wanted dimensions, in name order, of the share that `total` offers, each at most
    `most`."""
    score = 0.0
    for d in range(len(wanted)):
        if wanted[d] > 0:
            share = float(total[d]) / float(wanted[d])
            if share > most:
                share = most
            score += share
    return score


@step
def choose_domain(
    wanted: Int64s,
    domains: Int32s,
    count: Int64s,
    total: Int64Table,
    creditable: Int64Table,
    own: Int64Table,
) -> Int:
    """Index into `domains` of the one that serves the gang best, -1 if there is none.

    Satisfiable beats unsatisfiable. Among satisfiable ones: most already credited, most of it the
    gang's own, then the tightest fit. Among the others: the largest share, most credited, then most
    of it the gang's own (ruling E34). Last: more machines, then the smaller value. `domains`
    numbers values in their order.
    """
    best: Int = np.int64(-1)
    for i in range(len(domains)):
        if count[i] == 0:
            continue
        if best < 0 or compared(i, best, wanted, domains, count, total, creditable, own) > 0:
            best = i
    return best


@step
def compared(
    a: Int,
    b: Int,
    wanted: Int64s,
    domains: Int32s,
    count: Int64s,
    total: Int64s,
    creditable: Int64s,
    own: Int64s,
) -> Int:
    """The number of the first rule that tells two domains apart (`DomainRule`); negative: `b` is
    the better one."""
    a_fits, b_fits = covers(total[a], wanted), covers(total[b], wanted)
    if a_fits != b_fits:
        return _signed(np.int64(1), a_fits)
    a_credit, b_credit = (
        coverage(creditable[a], wanted, 1.0),
        coverage(creditable[b], wanted, 1.0),
    )
    if a_fits:
        if a_credit != b_credit:
            return _signed(np.int64(2), a_credit > b_credit)
    else:
        a_share, b_share = coverage(total[a], wanted, 1.0), coverage(total[b], wanted, 1.0)
        if a_share != b_share:
            return _signed(np.int64(5), a_share > b_share)
        if a_credit != b_credit:
            return _signed(np.int64(6), a_credit > b_credit)
    a_own, b_own = coverage(own[a], wanted, 1.0), coverage(own[b], wanted, 1.0)
    if a_own != b_own:
        return _signed(np.int64(3), a_own > b_own)
    if a_fits:
        a_size, b_size = coverage(total[a], wanted, np.inf), coverage(total[b], wanted, np.inf)
        if a_size != b_size:
            return _signed(np.int64(4), a_size < b_size)
    if count[a] != count[b]:
        return _signed(np.int64(7), count[a] > count[b])
    return _signed(np.int64(8), domains[a] < domains[b])


@step
def _signed(rule: Int, is_better: bool) -> Int:
    return rule if is_better else -rule


@kernel
def rank_domains(
    wanted: Int64s,
    domains: Int32s,
    count: Int64s,
    total: Int64Table,
    creditable: Int64Table,
    own: Int64Table,
    order: Int64s,
    rule: Int64s,
    scores: FloatTable,
) -> None:
    """For an explanation: the best domains of a gang, the chosen one first.

    Fills `order` with indices into `domains`, -1 where there are no more; `rule` with the rule by
    which the chosen one beat each, 0 of itself; `scores` with what is credited, what of it is the
    gang's own, what all of it covers, each dimension once at most, and the same without that limit.
    What was ranked has no machines left in `count`.
    """
    machines: Int = np.int64(0)
    for place in range(len(order)):
        best = choose_domain(wanted, domains, count, total, creditable, own)
        order[place] = best
        rule[place] = 0
        if best < 0:
            continue
        scores[place, 0] = coverage(creditable[best], wanted, 1.0)
        scores[place, 1] = coverage(own[best], wanted, 1.0)
        scores[place, 2] = coverage(total[best], wanted, 1.0)
        scores[place, 3] = coverage(total[best], wanted, np.inf)
        if place == 0:
            machines = count[best]
        else:
            # The chosen one was taken out: for the comparison it has its machines again.
            first = order[0]
            count[first] = machines
            rule[place] = compared(first, best, wanted, domains, count, total, creditable, own)
            count[first] = 0
        count[best] = 0
