"""What logs tell of a knowledge base and of those who ask it: nothing is searched or answered again."""
