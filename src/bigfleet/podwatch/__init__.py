"""One CapacityRequest per pod that is demand, and per chunk of a CapacityBuffer."""
