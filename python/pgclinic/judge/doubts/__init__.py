"""Reasons to distrust a comparison, found in the records of its trials. Pure."""
