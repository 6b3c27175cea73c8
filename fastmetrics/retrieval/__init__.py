"""Rankings of documents: their measures against judgements, and the look-up of answers in an FAQ."""
