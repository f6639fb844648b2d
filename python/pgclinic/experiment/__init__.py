"""The road of every experiment: resolve, plan, execute, judge, resume."""
