"""Analysis of logs of a knowledge base and its users, without new searches or answers."""
