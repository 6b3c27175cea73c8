"""Formulas shared by metrics of rows and measures of runs: counts in, numbers out."""
