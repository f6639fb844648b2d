"""Pathologies of one area, and what only they measure: replication and slots."""
