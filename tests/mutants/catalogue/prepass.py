"""Flips in the crediting of existing supply (2.2, 2.3 steps 1, 2, 5 and 6)."""

from tests.mutants.mutant import Mutant

PREPASS = (
    Mutant(
        "the pre-pass goes by demand order, not by precedence (U22)",
        "decide.py",
        "    credit_supply(\n        order,",
        "    credit_supply(\n        np.arange(len(normalised)),",
    ),
    Mutant(
        "a machine need not hold one MinUnit",
        "kernels/vectors.py",
        "eligible[e, k] = covers(units[k], unit_of_key[e])",
        "eligible[e, k] = True",
    ),
    Mutant(
        "a Need covered to the last unit takes one machine more",
        "kernels/vectors.py",
        "        if left > 0:\n            remaining[d] = left",
        "        if left >= 0:\n            remaining[d] = left",
    ),
    Mutant(
        "Configuring machines are credited before Configured ones",
        "kernels/prepass.py",
        "range(2 * cluster, 2 * cluster + 2) if",
        "range(2 * cluster + 1, 2 * cluster - 1, -1) if",
    ),
    Mutant(
        "a gang is credited Configuring machines before Configured ones",
        "kernels/prepass.py",
        "range(2 * cluster, 2 * cluster + 2):",
        "range(2 * cluster + 1, 2 * cluster - 1, -1):",
    ),
    Mutant(
        "the dear machines of a cluster are kept first",
        "snapshot.py",
        "price[columns.offering[rows]], bucket[rows])",
        "-price[columns.offering[rows]], bucket[rows])",
    ),
    Mutant(
        "at equal price the machine that is cheap to give up is kept first",
        "snapshot.py",
        "-penalty[columns.stamp[rows]]",
        "penalty[columns.stamp[rows]]",
    ),
    Mutant(
        "of machines otherwise equal the last id is kept first",
        "snapshot.py",
        "keys = (rows, ",
        "keys = (-rows, ",
    ),
    Mutant(
        "an overdue bound machine is credited",
        "scene.py",
        "np.where(columns.overdue[placed], np.int32(len(kinds)), kind[placed])",
        "kind[placed]",
    ),
    Mutant(
        "an overdue order is credited to a plain Need",
        "kernels/prepass.py",
        "if holder[row] < 0 and eligible[kind] and not supply.overdue[row]:",
        "if holder[row] < 0 and eligible[kind]:",
    ),
    Mutant(
        "an overdue order is credited to a gang",
        "kernels/prepass.py",
        "domain[kind] >= 0 and not supply.overdue[row]:",
        "domain[kind] >= 0:",
    ),
    Mutant(
        "an order stamped without cluster is nobody's (U15)",
        "kernels/prepass.py",
        "return bool(cluster == -1 or cluster == needs.cluster[n])",
        "return bool(cluster == needs.cluster[n])",
    ),
    Mutant(
        "an order is credited to the same profile of another cluster (U15)",
        "kernels/prepass.py",
        "return bool(cluster == -1 or cluster == needs.cluster[n])",
        "return bool(cluster == -1 or cluster != -2)",
    ),
    Mutant(
        "the group on a stamp plays no part (U15)",
        "vocabulary.py",
        "pair_of(s.need_fingerprint, s.group)",
        'pair_of(s.need_fingerprint, "")',
    ),
    Mutant(
        "own orders are credited from the last id on",
        "scene.py",
        "creating = np.flatnonzero(columns.state == MachineState.CREATING)",
        "creating = np.flatnonzero(columns.state == MachineState.CREATING)[::-1]",
    ),
    Mutant(
        "a parked gang looks at what it could acquire",
        "kernels/prepass.py",
        "    if needs.parked[n]:\n        runs = runs[:0]",
        "    if False:\n        runs = runs[:0]",
    ),
    Mutant(
        "a gang counts on stock an earlier gang spoke for",
        "kernels/prepass.py",
        "left = pool.end[run] - spoken_for[run]",
        "left = pool.end[run] - pool.start[run]",
    ),
    Mutant(
        "a gang counts on machines reserved for somebody else",
        "kernels/prepass.py",
        "if left > 0 and where >= 0 and may_use(n, run, needs, pool):",
        "if left > 0 and where >= 0:",
    ),
    Mutant(
        "a gang acquires where nothing free was left for it (U10)",
        "kernels/prepass.py",
        "may_acquire[n] = acquirable[best] > 0",
        "may_acquire[n] = acquirable[best] >= 0",
    ),
    Mutant(
        "a gang is credited others' machines before its own",
        "kernels/prepass.py",
        "if is_own[i] == (turn == 0) and",
        "if is_own[i] == (turn == 1) and",
    ),
    Mutant(
        "a gang speaks for Speculative machines before Idle ones",
        "kernels/prepass.py",
        "pool.speculative[run] != (speculative == 1)",
        "pool.speculative[run] != (speculative == 0)",
    ),
    Mutant(
        "a gang that pins types speaks for the last type first",
        "kernels/prepass.py",
        "kinds.type_rank[ka] < kinds.type_rank[kb]",
        "kinds.type_rank[ka] > kinds.type_rank[kb]",
    ),
    Mutant(
        "a gang that pins types speaks for dear machines first",
        "kernels/prepass.py",
        "return bool(kinds.price[ka] < kinds.price[kb])",
        "return bool(kinds.price[ka] > kinds.price[kb])",
    ),
    Mutant(
        "a gang that pins no types speaks for machines by price",
        "kernels/prepass.py",
        "    if pinned:\n        ka",
        "    if True:\n        ka",
    ),
    Mutant(
        "a gang speaks for the last id first",
        "kernels/prepass.py",
        "pool.rows[spoken_for[a]] < pool.rows[spoken_for[b]]",
        "pool.rows[spoken_for[a]] > pool.rows[spoken_for[b]]",
    ),
    Mutant(
        "a gang that pins types speaks for machines whose type is only a label",
        "kernels/prepass.py",
        "or (pinned and kinds.type_rank[kind] < 0)",
        "or (pinned and kinds.type_rank[kind] < -1)",
    ),
)
