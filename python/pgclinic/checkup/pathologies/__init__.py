"""Every known illness is a file in the folder of its area, which defines PATHOLOGY. Nobody else has to be told."""
