"""Tables in databases: PostgreSQL, SQLite and DuckDB, through their ADBC drivers."""
