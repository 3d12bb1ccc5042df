"""The registry of providers."""
