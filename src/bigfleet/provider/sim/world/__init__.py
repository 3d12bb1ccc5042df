"""The simulated substrate as a pure state machine: events in, instructions out, time passed in."""
