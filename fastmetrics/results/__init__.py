"""What scores say: summaries, agreement with people, tables for a terminal."""
