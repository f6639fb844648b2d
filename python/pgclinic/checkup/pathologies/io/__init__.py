"""Pathologies of one area, and what only they measure: I/O."""
