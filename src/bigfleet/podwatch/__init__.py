"""One CapacityRequest per live pod, and per chunk of a CapacityBuffer."""
