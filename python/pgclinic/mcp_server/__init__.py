"""The runs as tools of the Model Context Protocol: reads run folders, and starts checkups where that is allowed."""
