"""Charts of the report and of ``fm.plot``."""
