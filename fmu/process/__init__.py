"""Programs that run FMUs apart from ours: how they leave a trail, and how they end."""
