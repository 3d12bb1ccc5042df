"""The oracle: the decision rules as slow, obvious code, written from the rules alone.

It knows the model and nothing of the engine; where the rules allow two programs it follows
`docs/adr/0003-readings-of-the-decision-rules.md`.
"""
