"""The work behind an acknowledgement: queues, attempts, limits, and how each ends."""
