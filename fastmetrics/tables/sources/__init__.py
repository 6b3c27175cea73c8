"""Sources of tables: files, frames in memory, and databases."""
