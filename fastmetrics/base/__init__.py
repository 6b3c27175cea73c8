"""What every other room stands on: errors, Arrow data, columns and tables of any kind, options, threads, printed
tables.
"""
