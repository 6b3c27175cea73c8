"""Files behind addresses: stores, listings, retries."""
