"""Frozen records with units; no I/O. Every stage of a run hands one of these to the next."""
