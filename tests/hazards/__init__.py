"""Defects that must not exist, by their id: each test fails when its guard is removed."""
