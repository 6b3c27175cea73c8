"""Clients that send calls: to a server with an OpenAI-compatible API, or to a registered function."""
