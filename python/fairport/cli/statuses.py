"""Exit statuses of the command `fairport`, as shells expect them."""

CHECK_FAILED = 1
"""A claim of a paper differs (`reproduce --check`), so does a rerun, or a script does not hold."""
RUNS_FAILED = 1
"""A run of a sweep failed; the others are kept."""
BAD_INPUT = 2
INVALID = 3
"""No run on the Linux backend was valid."""
INTERRUPTED = 130
"""After Ctrl-C: 128 plus the number of the signal SIGINT."""
READER_LEFT = 141
"""The reader of a pipe has left: 128 plus the number of SIGPIPE, as for other programs."""
