"""Run folders: the stored files are the only bus between running and reporting."""
