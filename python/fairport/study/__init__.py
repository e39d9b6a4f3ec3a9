"""Studies: many runs as one question. The pool and its store, the fixes, the comparison."""
