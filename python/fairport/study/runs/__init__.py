"""Runs in parallel, in processes and on clusters, and the store that keeps them."""
