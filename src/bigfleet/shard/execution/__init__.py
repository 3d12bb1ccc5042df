"""Execution: actions on their way to a provider, from the queue to the last thing seen of them."""
