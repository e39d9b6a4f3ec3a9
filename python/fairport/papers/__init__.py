"""The papers' measurements as data: one folder per paper, and in it one folder per experiment.

`catalogue` reads and checks the files, `model` defines their contents, `metrics` computes the
numbers of claims. `fairport.published` reads single numbers without any of this.
"""
