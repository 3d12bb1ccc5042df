"""Closed loops of clusters: the engine, revised demand and a scheduler, until every pod runs."""
