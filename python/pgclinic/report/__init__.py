"""What people see: terminal text and the self-contained HTML report. Reads records, runs nothing."""
