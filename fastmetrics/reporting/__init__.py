"""One page that a team opens from a file: figures of all rows, and the rows behind them."""
