"""At 3 a.m.: a fault is injected into a live `bigfleet up`; cause and remedy take two commands."""
