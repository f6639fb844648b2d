"""What a database costs when it has grown, measured on twins of several sizes."""
