"""A third party's package: it brings rules, and raises when it is imported, which loading its rules must never do."""


def gemm(a, b):
    """A product."""
    return a @ b


raise RuntimeError("mykernels was imported")
