"""Flips in acquisition (2.4): order of Needs, order of machines, spread, broker, emission."""

from tests.mutants.mutant import Mutant

_ACQUIRE = "kernels/acquire.py"
_BROKER = "kernels/broker.py"

ACQUISITION = (
    Mutant(
        "acquisition ignores the penalty buckets",
        "arrays.py",
        "descending_level(scene.demand.profiles.precedence)",
        "descending_level(scene.demand.profiles.priority)",
    ),
    Mutant(
        "the reclamation bucket outranks the interruption bucket",
        "vocabulary.py",
        "(priority * 64 + interruption) * 64 + reclamation",
        "(priority * 64 + reclamation) * 64 + interruption",
    ),
    Mutant(
        "Speculative machines are taken before Idle ones",
        _BROKER,
        "for speculative in (False, True):",
        "for speculative in (True, False):",
    ),
    Mutant(
        "a Need that Idle machines cover takes a Speculative one too",
        _BROKER,
        "if is_covered(left):",
        "if False:",
    ),
    Mutant(
        "the dearest machine is taken first",
        _BROKER,
        "costs[live] < costs[best]",
        "costs[live] > costs[best]",
    ),
    Mutant(
        "after the first, dear machines are taken before cheap ones",
        _ACQUIRE,
        "costs[child] < costs[least]",
        "costs[child] > costs[least]",
    ),
    Mutant(
        "at equal cost the last id is taken first",
        _BROKER,
        "heads[live] < heads[best]",
        "heads[live] > heads[best]",
    ),
    Mutant(
        "after the first, at equal cost the last id is taken first",
        _ACQUIRE,
        "heads[child] < heads[least]",
        "heads[child] > heads[least]",
    ),
    Mutant(
        "an Idle machine costs its price alone (U27)",
        _BROKER,
        "if probability[kind] > 0.0:",
        "if speculative and probability[kind] > 0.0:",
    ),
    Mutant(
        "a machine costs its price alone (U27)",
        _BROKER,
        "costs[live] += probability[kind] * penalty[n]",
        "costs[live] += 0.0",
    ),
    Mutant(
        "no risk of an infinite loss costs something (U4)",
        _BROKER,
        "probability[kind] > 0.0",
        "probability[kind] >= 0.0",
    ),
    Mutant(
        "a gang acquires outside its domain",
        _BROKER,
        "domain_of_kind[same[n], kind] != domain[n]",
        "domain_of_kind[same[n], kind] < 0",
    ),
    Mutant(
        "spread: domains compare by the price of their first machine, not by its cost (U27)",
        _ACQUIRE,
        "cost_of(n, pool.kind[heads[where]], needs, kinds)\n"
        "                    < cost_of(n, pool.kind[heads[chosen]], needs, kinds)",
        "kinds.price[pool.kind[heads[where]]]\n"
        "                    < kinds.price[pool.kind[heads[chosen]]]",
    ),
    Mutant(
        "spread: a machine costs its price alone (U27)",
        _ACQUIRE,
        "float(price + kinds.probability[kind] * needs.penalty[n])",
        "float(price)",
    ),
    Mutant(
        "spread: no risk of an infinite loss costs something (U4)",
        _ACQUIRE,
        "kinds.probability[kind] > 0.0",
        "kinds.probability[kind] >= 0.0",
    ),
    Mutant(
        "spread: empty domains do not count for the minimum",
        _ACQUIRE,
        "if exists[where] and counts[where] < lowest:",
        "if exists[where] and 0 < counts[where] < lowest:",
    ),
    Mutant(
        "spread: a domain that has only claimed machines does not count for the minimum",
        _ACQUIRE,
        "exists = domains_with_any(counts)",
        "exists = domains_with_any(-counts)",
    ),
    Mutant(
        "spread: machines credited before do not count (U5)",
        _ACQUIRE,
        "counts = claimed_by_domain(n, needs, kinds, supply, holder)",
        "counts = np.zeros_like(claimed_by_domain(n, needs, kinds, supply, holder))",
    ),
    Mutant(
        "spread: the skew is one too wide",
        _ACQUIRE,
        "slack = max(np.int64(1), needs.skew[n]) - 1",
        "slack = max(np.int64(1), needs.skew[n])",
    ),
    Mutant(
        "spread: a skew of zero forbids everything",
        _ACQUIRE,
        "slack = max(np.int64(1), needs.skew[n]) - 1",
        "slack = needs.skew[n] - 1",
    ),
    Mutant(
        "spread: the dearest eligible domain comes first",
        _ACQUIRE,
        "needs, kinds)\n                    < cost_of",
        "needs, kinds)\n                    > cost_of",
    ),
    Mutant(
        "spread: at equal cost the greater domain comes first",
        _ACQUIRE,
        "needs, kinds)\n                    < cost_of",
        "needs, kinds)\n                    <= cost_of",
    ),
    Mutant(
        "spread: Speculative machines come before Idle ones",
        _ACQUIRE,
        "for speculative in (False, True):",
        "for speculative in (True, False):",
    ),
    Mutant(
        "spread: the head of a domain is its dearest machine",
        _ACQUIRE,
        "if cost < other_cost or (",
        "if cost > other_cost or (",
    ),
    Mutant(
        "spread: a machine reserved for another Need is taken",
        _ACQUIRE,
        "if where >= 0 and cursor[run] < pool.end[run] and may_use(n, run, needs, pool):",
        "if where >= 0 and cursor[run] < pool.end[run]:",
    ),
    Mutant(
        "spread: stopping within the skew is told as topology",
        _BROKER,
        "ledger.skew_stopped[n] = candidates_left(n, needs, kinds, pool, cursor)",
        "ledger.skew_stopped[n] = not candidates_left(n, needs, kinds, pool, cursor)",
    ),
    Mutant(
        "a worker's stale proposal is committed as it is",
        _BROKER,
        "stale = stale or seen[pool.key_runs[r]] != cursor[pool.key_runs[r]]",
        "stale = False",
    ),
    Mutant(
        "Needs that share machines are dealt to workers as if they did not",
        _BROKER,
        "parent[next_free(parent, np.int64(key_runs[r]))] = first",
        "parent[first] = first",
    ),
    Mutant(
        "a spread Need's Provisions are emitted among its Bootstraps, by cost",
        "outcome.py",
        "keys = (rows[spread], cost, is_spec[spread], need[spread])",
        "keys = (rows[spread], cost, need[spread])",
    ),
    Mutant(
        "a spread Need's machines are emitted by id, not in pool order",
        "outcome.py",
        "keys = (rows[spread], cost, is_spec[spread], need[spread])",
        "keys = (rows[spread], is_spec[spread], need[spread])",
    ),
    Mutant(
        "acquisitions are emitted in the order of precedence, not of the demand",
        "outcome.py",
        "return rows, is_spec, need",
        "turn = np.argsort(acquired.turn[need], kind='stable')\n"
        "        return rows[turn], is_spec[turn], need[turn]",
    ),
)
