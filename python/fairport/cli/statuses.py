"""Exit statuses of the command, as shells expect them."""

BAD_INPUT = 2
INTERRUPTED = 130
"""By Ctrl-C: 128 and the signal's number."""
