"""Placement: whether pods fit on Nodes, and what demand must be revised when they do not.

Pure and shared by the operator of a real cluster and by simulated ones. It knows pods and Nodes as
small records of its own, never API objects, and nothing of how machines are chosen.
"""
