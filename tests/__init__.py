"""The tests, and the slow definitions they hold the package to."""
