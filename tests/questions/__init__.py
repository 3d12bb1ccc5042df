"""Questions people ask of a fleet, answered from a recorded night in at most two commands each."""
