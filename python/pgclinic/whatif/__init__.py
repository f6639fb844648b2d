"""A change tried on a twin by plans and buffers, rolled back."""
