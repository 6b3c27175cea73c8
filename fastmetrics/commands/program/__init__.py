"""What surrounds every command: streams, interrupts, errors."""
