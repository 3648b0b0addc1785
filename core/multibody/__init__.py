"""From a mechanism to symbols: poses, twists, forces, constraints of a tree of bodies."""
