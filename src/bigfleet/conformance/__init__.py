"""The conformance suite: whether a provider keeps its contract, judged only by what it answers."""

SUITE_VERSION = "1"
