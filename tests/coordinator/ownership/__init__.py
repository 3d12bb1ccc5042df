"""Domains and default owners change hands, and no machine ever has two owners."""
