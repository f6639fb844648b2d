"""Pathologies of one area, and what only they measure: connections and memory."""
