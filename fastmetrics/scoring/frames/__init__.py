"""Scores within the tools that hold the rows: pandas, Polars, DuckDB and Hugging Face datasets."""
