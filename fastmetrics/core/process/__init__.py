"""The running process: threads, signals, room for nested calls, and reports of its work."""
