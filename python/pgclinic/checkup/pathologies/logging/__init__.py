"""Pathologies of one area, and what only they measure: logging and monitoring."""
