"""Co-simulation: packaging of mechanisms as FMUs."""
