"""Exit statuses of the command `fairport`, as shells expect them."""

BAD_INPUT = 2
INTERRUPTED = 130
"""After Ctrl-C: 128 plus the number of the signal SIGINT."""
READER_LEFT = 141
"""The reader of a pipe has left: 128 plus the number of SIGPIPE, as for other programs."""
