"""Tests of the repository: imports, names, docs, benches and scripts."""
