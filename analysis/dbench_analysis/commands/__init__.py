"""The subcommands of dbench-analyze: each module has `declare(parser)` and `run(arguments)`."""
