"""Many runs of one machine."""
