"""The page of the service: HTML, styles and scripts as they are, without a build step, and the rules under which they run."""
