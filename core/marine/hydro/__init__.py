"""What the water does to a hull, as programs for potential flow compute it: data, their files, and what follows from them."""
