"""The values that options may have, the descriptions of settings, and limits of batches and retries."""
