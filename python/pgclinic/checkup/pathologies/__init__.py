"""Every known illness is one file here, with the name of its PATHOLOGY. Nothing else has to be told of it."""
