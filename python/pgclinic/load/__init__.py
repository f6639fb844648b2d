"""The load engine's Python side."""
