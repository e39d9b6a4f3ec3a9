"""Distributions of flow sizes: those of the literature as files, and any file like them."""

from fairport.workloads.cdf import Cdf, read_cdf

__all__ = ["Cdf", "read_cdf"]
