"""What ``pgclinic doctor`` prints."""
