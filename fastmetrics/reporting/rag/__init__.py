"""The evaluation of a RAG system in one run, from the questions to the report."""
