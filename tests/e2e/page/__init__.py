"""The page in a real browser: Debian's Chromium, driven by Playwright, against a live `up`."""
