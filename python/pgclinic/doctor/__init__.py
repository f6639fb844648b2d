"""What a machine can do for verdicts, and what would make them better."""
