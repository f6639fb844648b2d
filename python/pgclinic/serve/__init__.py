"""The runs of a directory as pages that follow what is written there: reads run folders and events, writes nothing."""
