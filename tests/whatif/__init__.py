"""What-if overlays: edits, how they are applied, and what is told."""
