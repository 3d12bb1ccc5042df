"""What BigFleet promises, by behaviour."""
