"""What to score: specs of metrics, the plan made of them, and the pure function that scores a batch."""
