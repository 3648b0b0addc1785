"""Systems assembled from subsystems: labelled matrices, orthogonal complements, the recursion of Theorem 2.10."""
