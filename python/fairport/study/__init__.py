"""Studies: many runs that answer one question. The pool, its store, the fixes, the comparison."""
