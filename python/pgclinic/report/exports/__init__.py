"""What other programs read: a comparison, a checkup, a treatment and settings in the formats of others."""
