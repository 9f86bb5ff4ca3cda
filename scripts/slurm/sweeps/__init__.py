"""Sweeps: from one sweep file to many runs, on Slurm or on this machine.

The modules use only the standard library and Python 3.6, which login nodes have. A module imports
only modules before it in this order: text, problem, files, process, jsonfile, axes, sweepfile,
program, results, comparisons, plan; then site, batch, record, slurm, heartbeat, log, status,
submit; local; measure; rates, tuning, tunedtable, tune; cli.
"""
