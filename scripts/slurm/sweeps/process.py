"""Runs other programs and returns what they print, whatever bytes they print."""

import os
import subprocess

# Variables of the step of Slurm that this process is in, by their beginnings.
STEP = ("SLURM_STEP_", "SLURM_PROCID", "PMI_RANK", "PMI_SIZE", "PMI_FD", "PMIX_RANK",
        "PMIX_NAMESPACE", "PMIX_SERVER_")


def outside_a_step():
    """Return the environment without the variables by which a program takes itself for one of
    several ranks: in `srun -n 4 --pty bash` a program that is started alone would have them."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith(STEP)}


def call(command, text="", environment=None):
    """Return (status, output, errors); the status is 127 if the program cannot be started."""
    try:
        done = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            encoding="utf-8", errors="surrogateescape", env=environment)
    except OSError as error:
        return 127, "", f"{command[0]}: {error.strerror}"
    out, errors = done.communicate(text)
    return done.returncode, out, errors


def lines_of(errors):
    """Return the lines that are not blank."""
    return [line.strip() for line in errors.splitlines() if line.strip()]


def last_line(errors):
    """Return the last line that is not blank."""
    return (lines_of(errors) or ["no message"])[-1]
