"""Files at addresses: stores, listings, retries."""
