"""The report of a run: one HTML page that holds everything and opens without a network."""

from fairport.report.page import write
from fairport.report.trace import trace_table

__all__ = ["trace_table", "write"]
