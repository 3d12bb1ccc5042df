"""What a machine is given to join a cluster: templates, tokens, answers."""
