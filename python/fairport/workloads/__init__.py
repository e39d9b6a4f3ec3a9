"""Distributions of flow sizes: those of the literature, and the user's own files."""

from fairport.workloads.cdf import Cdf, read_cdf

__all__ = ["Cdf", "read_cdf"]
