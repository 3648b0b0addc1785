"""The ``kingpost`` command line."""
