"""The driver of `make bench`: builds, runs, compares and draws."""
