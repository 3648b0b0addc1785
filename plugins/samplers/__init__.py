"""Which cases a study has."""
