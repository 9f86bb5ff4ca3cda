"""dbench-export: writes a user's PyTorch model to a file that `dbench run` trains without Python.

`cli` reads the command line, `sources` makes the module, `outputs` chooses its logits, `refusals`
finds what DBench cannot train, `graphs` exports the two graphs, `archive` writes the file and reads
it again, and `verification` compares it with the module."""

__version__ = "0.1.0"
