"""Reports as one HTML page that opens from a file: figures of all rows, and selected rows."""
