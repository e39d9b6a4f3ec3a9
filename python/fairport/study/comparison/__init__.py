"""`compare`: a scenario with and without fixes, what is compared, and how fixes are ranked."""
