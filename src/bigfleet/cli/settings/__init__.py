"""Configuration of every verb: flags over environment over file over default, each with its origin.

A verb hands over the records that say what may be set about it (`model.settings`); keys, flags,
variables, help and checks are made from them, so that none can be forgotten.
"""
