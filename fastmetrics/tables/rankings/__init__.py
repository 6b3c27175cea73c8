"""Rankings and relevance judgements, from files and from tables in memory."""
