"""Sweeps: from one file to many runs, on Slurm or here.

Standard library only and Python 3.6, since that is what login nodes have. In order of use:
text, problem, files, process, jsonfile, axes, sweepfile, program, results, plan; then site, batch,
record, slurm, heartbeat, log, status, submit; local.
"""
