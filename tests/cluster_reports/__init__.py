"""What clusters tell of themselves, and what they are told of their Needs."""
