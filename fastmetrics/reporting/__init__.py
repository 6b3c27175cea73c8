"""Reports as one HTML page that opens from a file, charts, and the evaluation of a RAG system to its report."""
