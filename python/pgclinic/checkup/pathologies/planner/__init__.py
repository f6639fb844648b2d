"""Pathologies of one area, and what only they measure: planner and statistics."""
