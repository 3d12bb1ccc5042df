"""Simulated Kubernetes clusters: workloads, a scheduler model, operators on real Sessions."""
