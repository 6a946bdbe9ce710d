"""Views of a controller in a notebook, and its records as data frames. Needs the extra ``notebook``.

Importing this package loads nothing but the standard library; each module says when its extra is missing.
"""
