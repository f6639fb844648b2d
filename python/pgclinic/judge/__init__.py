"""Question and records to a verdict: evidence, intervals, regions, doubts. Pure."""
