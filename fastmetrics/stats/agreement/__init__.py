"""Agreement between raters, and of scores with labels."""
