"""A run while it goes on, for Prometheus and OpenTelemetry: figures from its events, and how receivers get them."""
