"""When a long-lived process collects its garbage."""
