"""What the samples of trials say. Pure: records in, records out."""
