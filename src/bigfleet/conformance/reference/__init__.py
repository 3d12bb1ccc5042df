"""A provider that keeps the contract in plain dictionaries, and can be told to break one point.

It exists to prove that the suite can fail: every mutant is this provider with one decision bent.
"""
