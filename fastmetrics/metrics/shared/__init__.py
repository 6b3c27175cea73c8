"""Code shared by several families of metrics."""
