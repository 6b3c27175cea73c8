"""Planning: specs of metrics, the plan built from them, and the pure function that scores a batch."""
