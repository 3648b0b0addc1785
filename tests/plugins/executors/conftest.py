"""Clusters that can be killed."""

from tests.plugins.executors.clusters import clusters

__all__ = ["clusters"]
