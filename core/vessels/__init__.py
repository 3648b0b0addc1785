"""Floating vessels from hydrodynamic data, as parts of a mechanism."""
