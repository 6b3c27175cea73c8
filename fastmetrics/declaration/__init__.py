"""What a metric is: a batch of rows, the representations a metric asks for, the decorator that declares it."""
