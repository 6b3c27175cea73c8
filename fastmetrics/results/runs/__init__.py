"""Score files and tables as runs: opening them, their metrics, the list of runs in a folder."""
