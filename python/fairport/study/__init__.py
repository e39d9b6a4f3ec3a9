"""Studies: many runs that answer one question, such as a sweep, a search or a reproduction."""
