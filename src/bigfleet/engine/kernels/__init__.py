"""Compiled loops over columns. Plain functions on arrays: no objects, no clock, no chance.

Set NUMBA_DISABLE_JIT=1 to run them as ordinary Python under a debugger.
"""
