"""The store of calls on disk, which several runs may share."""
