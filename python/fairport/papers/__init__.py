"""What papers measured, as data: one folder per paper, and in it one folder per experiment.

`catalogue` reads and checks the files, `model` says what may be in them, `metrics` measures what
claims are about. `fairport.published` reads single numbers without any of this.
"""
