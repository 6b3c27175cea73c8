"""All clients of models: of a registered function, or of a server with an OpenAI-compatible API.

A client that comes with the package is a module with a function under ``@model_client``, imported here.
"""

from __future__ import annotations

from dataclasses import replace

from fastmetrics.derive.clients.chat_client import ChatClient
from fastmetrics.derive.clients.client import Client, Connection
from fastmetrics.derive.clients.model_client import FunctionClient, scheme_of
from fastmetrics.derive.clients.server_address import address_of


def connect(connection: Connection) -> Client:
    """The client for the address of a connection."""
    address = address_of(connection.base_url)
    name = scheme_of(address)
    return ChatClient(connection) if name is None else FunctionClient(name, replace(connection, base_url=address))
