"""Single bodies with unit quaternions as coordinates."""
