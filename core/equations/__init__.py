"""The equations of motion in one descriptor form, and what is derived from them without more mechanics."""
