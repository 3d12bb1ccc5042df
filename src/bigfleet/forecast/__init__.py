"""Forecasts: when Needs that wait are expected to be met, and how good such forecasts have been."""
