"""Fitting a score to labels of the user's own, evaluated on rows that the fit has not seen."""
