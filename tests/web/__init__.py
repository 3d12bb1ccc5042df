"""The page: serving, safety, live updates."""
