"""Flips in the order of demand and in the fold (2.1, U17, U20)."""

from tests.mutants.mutant import Mutant

DEMAND = (
    Mutant(
        "the lowest priority comes first",
        "vocabulary.py",
        "np.unique(-ranks, return_inverse=True)",
        "np.unique(ranks, return_inverse=True)",
    ),
    Mutant(
        "at equal priority the latest arrival comes first",
        "needs_table.py",
        "np.argsort(columns.arrival, kind=",
        "np.argsort(-columns.arrival, kind=",
    ),
    Mutant(
        "at equal priority and arrival the cluster that reported first comes first",
        "needs_table.py",
        "for name in sorted(blocks)}",
        "for name in blocks}",
    ),
    Mutant(
        "a row that persists gets the arrival of the new roll-up",
        "needs_table.py",
        "keep_arrivals(block, before)",
        "pass",
        "loop",
    ),
    Mutant(
        "folded Needs go by cluster as first seen, not by its name",
        "fold.py",
        "lambda c: scene.cluster_names[c]",
        "lambda c: c",
    ),
    Mutant(
        "folded Needs of one profile go by aggregate as first seen, not by its value",
        "fold.py",
        "lambda v: vectors.amounts(v)",
        "lambda v: v",
    ),
    Mutant(
        "folded Needs go by profile as first seen, not by fingerprint",
        "fold.py",
        "lambda p: profiles[p].fingerprint",
        "lambda p: p",
    ),
    Mutant(
        "a folded Need may be served in pieces smaller than one gang",
        "fold.py",
        "unit=aggregate,",
        "unit=columns.unit[lead],",
    ),
    Mutant(
        "an unknown arrival is the earliest of a folded group",
        "fold.py",
        "np.where(arrival == 0, never, arrival)",
        "np.where(arrival < 0, never, arrival)",
    ),
    Mutant(
        "a gang folds although its own machine is too small for it (U17)",
        "fold.py",
        "if named.any():",
        "if False:",
    ),
    Mutant(
        "one gang more folds than the fitting machines hold (U17)",
        "kernels/fold.py",
        "folded[group[g]] >= fit:",
        "folded[group[g]] > fit:",
    ),
    Mutant(
        "folding is limited where no smaller machine would serve (U17)",
        "kernels/fold.py",
        "if small[class_of[g]] and folded",
        "if folded",
    ),
    Mutant(
        "a machine of any size hosts one gang (U17)",
        "kernels/fold.py",
        "gangs = min(gangs, units[k, d] // wanted[c, d])",
        "gangs = np.int64(1)",
    ),
    Mutant(
        "a gang with an order under its own name folds (U20)",
        "fold.py",
        "if len(scene.supply.creating):",
        "if False:",
    ),
    Mutant(
        "an order stamped without cluster does not keep its gang from folding (U20)",
        "fold.py",
        "return (_places_in(pair_for_any, pair) >= 0) | (",
        "return (",
    ),
    Mutant(
        "a gang that holds a reservation folds (U20)",
        "fold.py",
        "stays = wants_nothing | np.isin(identity, in_flight.holder_identity)",
        "stays = wants_nothing",
    ),
    Mutant(
        "a victim that drains for the folded Need hosts no gang (U20)",
        "kernels/fold.py",
        "fit = _plus_times(fit, holds[draining_kind[i]], np.int64(1))",
        "fit = _plus_times(fit, holds[draining_kind[i]], np.int64(0))",
    ),
    Mutant(
        "an order for the folded Need hosts no gang (U20)",
        "kernels/fold.py",
        "fit = _plus_times(fit, holds[supply.kind[row]], np.int64(1))",
        "fit = _plus_times(fit, holds[supply.kind[row]], np.int64(0))",
    ),
    Mutant(
        "an overdue order hosts a gang",
        "kernels/fold.py",
        "(by == -1 or by == cluster[c]) and not supply.overdue[row]",
        "(by == -1 or by == cluster[c])",
    ),
    Mutant(
        "what the fold may use is also limited by reservations",
        "decide.py",
        "unguarded = Pool(scene, guards_of([]))",
        "unguarded = Pool(scene, guards_of(standing))",
    ),
)
