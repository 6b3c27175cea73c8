"""Confidence intervals of means, shares and correlations."""
