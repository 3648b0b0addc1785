"""File formats of hydrodynamic data, each read into the one convention of :class:`HydroData`."""
