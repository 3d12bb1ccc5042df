"""Kubernetes as an adapter: API objects as narrow records, and the calls that read and write them.

The only ring that imports a Kubernetes client.
"""
