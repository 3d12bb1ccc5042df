"""What the substrate says, compared with what the provider remembers."""
