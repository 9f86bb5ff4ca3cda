"""The subcommands of dbench-analyze. Each module has HELP, EXAMPLES, `declare(parser)`, which adds
its options, and `run(arguments)`, which returns the exit status."""
