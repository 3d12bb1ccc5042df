"""The coordinator at work: leadership, commits, calls, pages."""
