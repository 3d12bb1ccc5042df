"""The routes below /api: every module here has `routes(fleet)`, and `app.py` finds it by itself."""
