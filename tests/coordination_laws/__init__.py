"""The laws of the coordinator, over random schedules of faults."""
