"""Other programs, and what they print, whatever bytes that is."""

import subprocess


def call(command, text=""):
    """(status, output, errors); a program that cannot be started is status 127."""
    try:
        done = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        return 127, "", f"{command[0]}: {error.strerror}"
    out, errors = done.communicate(text)
    return done.returncode, out, errors


def last_line(errors):
    lines = [line for line in errors.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no message"
