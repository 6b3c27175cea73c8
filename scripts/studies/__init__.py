"""Studies that write pages and tables of the docs from public data sets; ``scripts/study NAME`` runs one."""
