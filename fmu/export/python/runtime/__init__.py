"""The Python that runs inside an FMU made by exporter ``fmu``.

The exporter copies these files into the archive under a name that no other FMU has. All but ``package`` and ``rebuilding`` use
nothing beyond the standard library of Python 3.8, so that a machine without NumPy, CasADi or Kingpost runs a traced model, and
any machine gets a message that says what is missing.
"""
