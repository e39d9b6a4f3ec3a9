"""The reports: each is one HTML page that holds everything and opens without a network."""
