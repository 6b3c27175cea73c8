"""The commands that call models or judge their answers."""
