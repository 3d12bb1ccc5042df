"""The custom resources a cluster must know."""
