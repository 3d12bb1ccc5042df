"""The decision journal: what every cycle was given and decided, so that it can be run again.

The cycle hands over references to immutable inputs and goes on; a thread finds out what changed
and writes it. Nothing here is read by a decision, and a full disk costs records, never cycles.
"""
