"""What the server and the machine were doing while a trial ran."""
