"""What is wrong with a fleet is told with its cause and what to do next."""
