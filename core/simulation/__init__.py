"""Problems posed, steppers, runs and what they leave."""
