"""From a study file to a verdict: read, expand, run, judge."""
