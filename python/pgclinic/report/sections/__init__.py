"""The sections of reports, a folder for each: its view, its text, its page."""
