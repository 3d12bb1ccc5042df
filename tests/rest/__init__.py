"""The routes below /api, over a whole fleet that lives."""
