"""Runs other programs and returns what they print, whatever bytes they print."""

import subprocess


def call(command, text=""):
    """Return (status, output, errors); the status is 127 if the program cannot be started."""
    try:
        done = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        return 127, "", f"{command[0]}: {error.strerror}"
    out, errors = done.communicate(text)
    return done.returncode, out, errors


def last_line(errors):
    """Return the last line that is not blank."""
    lines = [line for line in errors.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no message"
