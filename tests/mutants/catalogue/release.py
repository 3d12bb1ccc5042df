"""Flips in Phase 3 and in what held machines may be used for (2.6, 2.8)."""

from tests.mutants.mutant import Mutant

RELEASE = (
    Mutant(
        "machines of a cluster that has not reported are reclaimed",
        "release.py",
        "key=names.__getitem__) if ready[c]]",
        "key=names.__getitem__)]",
    ),
    Mutant(
        "clusters give back in the order they were first seen",
        "release.py",
        "sorted(range(len(names)), key=names.__getitem__)",
        "range(len(names))",
    ),
    Mutant(
        "a reclaimed machine gets two minutes",
        "outcome.py",
        "RECLAIM_GRACE_SECONDS = 600",
        "RECLAIM_GRACE_SECONDS = 120",
    ),
    Mutant(
        "a machine is kept in the instant its hold is over",
        "release.py",
        "now - since >= holds",
        "now - since > holds",
    ),
    Mutant(
        "every capacity type is held as long as on-demand",
        "release.py",
        "options.release_holds.get(capacity_type, 0.0)",
        "options.release_holds.get(CapacityType.ON_DEMAND, 0.0)",
    ),
    Mutant(
        "bare metal is released like spot",
        "release.py",
        "if capacity_type not in _RELEASABLE:\n        return 0",
        "if capacity_type is CapacityType.BARE_METAL:\n        capacity_type = CapacityType.SPOT",
    ),
    Mutant(
        "a held machine is released",
        "release.py",
        "& (holder < 0) & (columns.held == 0)",
        "& (holder < 0)",
    ),
    Mutant(
        "a machine acquired this cycle is released",
        "release.py",
        "& (holder < 0) & (columns.held == 0)",
        "& (columns.held == 0)",
    ),
    Mutant(
        "a reserved machine is released",
        "release.py",
        "return rows[~np.isin(rows, reserved)]",
        "return rows",
    ),
    Mutant(
        "a held machine is acquired",
        "arrays.py",
        "pool_runs(columns.state, columns.held,",
        "pool_runs(columns.state, columns.held * 0,",
    ),
    Mutant(
        "a held machine is matching supply",
        "outcome.py",
        "obtainable = np.isin(columns.state, _FREE) & (columns.held == 0)",
        "obtainable = np.isin(columns.state, _FREE)",
    ),
)
