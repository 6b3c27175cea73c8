"""The texts of rows: where they come from, claims and citation marks in them, and texts on disk."""
