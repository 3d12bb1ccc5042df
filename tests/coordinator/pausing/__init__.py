"""The kill switch of the fleet."""
