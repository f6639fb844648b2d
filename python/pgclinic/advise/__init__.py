"""Indexes for a whole workload: candidates -> measure -> choose -> prove. Each is measured on a twin."""
