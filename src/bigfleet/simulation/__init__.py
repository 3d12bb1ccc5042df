"""The whole system in one process under virtual time: one seed gives one history."""
