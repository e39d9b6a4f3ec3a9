"""[queue]: the disciplines of switch ports, by how they decide."""
