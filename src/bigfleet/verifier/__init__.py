"""The plan verifier: checks every batch of actions before it is enqueued, with none of the engine's
code. Pure: facts in, vetoes out."""
