"""Descriptions and systems for the Open Simulation Platform."""

from kingpost.fmu.osp.model_description import find_groups, find_ports, osp_path, write_osp_description
from kingpost.fmu.osp.system_structure import write_osp_system

__all__ = ["find_groups", "find_ports", "osp_path", "write_osp_description", "write_osp_system"]
