"""Typed reasons, doubts and refusals in words, and numbers as people read them."""
