"""The only code that talks to LLVM: instructions on several bytes or ids at a time, each with a scalar twin."""
