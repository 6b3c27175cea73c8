"""The files of an input: paths, folders, patterns, addresses and streams."""
