"""Nearest neighbours of vectors: exact, by cells, by FAISS, over files."""
