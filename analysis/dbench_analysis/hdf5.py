"""Opening a result file whatever its writer is doing: finished, still writing, or dead.

HDF5 notes in the superblock (version 3) who has the file open. 0: nobody. Writing, in the
single-writer/multiple-reader mode: to be opened with `swmr=True`, which finds all that was
flushed, whether the writer lives or was killed. Writing, without that mode: the writer is in its
last instant (it reopens the file to set `status`), or died there; HDF5 refuses such a file, so
after a short wait it is read through a view in which the note is wiped, and so is one that cannot
be read in the mode that it names. Nothing is ever written.
"""

import ctypes
import io
import os
import time
from pathlib import Path

import h5py

from .checksum import lookup3
from .errors import DAMAGE, AnalysisError

SIGNATURE = b"\x89HDF\r\n\x1a\n"
FLAGS_AT = 11  # of superblock version 2 and 3
WRITING, SWMR = 0x01, 0x04
PATIENCE = 1.0  # seconds given to a writer that is just closing the file
ATTEMPTS = 24  # as the program has it; the pauses between them make a fiftieth of a second


def writer_flags(path: Path) -> int:
    """The consistency flags of the file's superblock (0: closed properly, or a format without)."""
    with open(path, "rb") as file:
        head = file.read(48)
    if not head:
        raise AnalysisError(path, "the file is empty", "its run ended before anything was written")
    if not head.startswith(SIGNATURE):
        raise AnalysisError(path, "not an HDF5 file", "give the .h5 file that `dbench run` wrote")
    return head[FLAGS_AT] if len(head) == 48 and head[8] >= 3 else 0


class _Wiped(io.RawIOBase):
    """A read-only view of the file at `path` whose superblock says that nobody writes it, and that
    it ends where it does (the note of that lags behind in the single-writer mode)."""

    def __init__(self, path: Path):
        self._file = open(path, "rb")
        head = self._file.read(48)
        width = head[9]  # of the four addresses that follow the first 12 bytes; the third: the end
        end, size = 12 + 2 * width, os.fstat(self._file.fileno()).st_size
        head = (head[:FLAGS_AT] + b"\0" + head[FLAGS_AT + 1 : end] + size.to_bytes(width, "little")
                + head[end + width : 12 + 4 * width])
        self._head = head + lookup3(head).to_bytes(4, "little")
        self._file.seek(0)

    def readable(self):
        return True

    def seekable(self):
        return True

    def seek(self, offset, whence=io.SEEK_SET):
        return self._file.seek(offset, whence)

    def tell(self):
        return self._file.tell()

    def readinto(self, buffer):
        at = self._file.tell()
        count = self._file.readinto(buffer)
        if at < len(self._head):
            part = self._head[at : at + count]
            buffer[: len(part)] = part
        return count

    def close(self):
        if not self.closed:
            self._file.close()
        super().close()


def _bound_attempts(access: h5py.h5p.PropFAID):
    """What looks unfinished in the single-writer mode HDF5 reads up to 100 times, each time after a
    pause of twice the length: for ever, where it is damaged. h5py has no name for that number."""
    hdf5 = ctypes.CDLL(h5py.h5p.__file__)
    hdf5.H5Pset_metadata_read_attempts(ctypes.c_int64(access.id), ctypes.c_uint(ATTEMPTS))


def without_lock(path: Path, swmr: bool) -> h5py.File:
    """The file, opened without a lock unless this process has it open with one already."""
    access, flags = h5py.h5p.create(h5py.h5p.FILE_ACCESS), h5py.h5f.ACC_RDONLY
    if swmr:
        flags |= h5py.h5f.ACC_SWMR_READ
        _bound_attempts(access)
    access.set_file_locking(False, ignore_when_disabled=False)
    name = os.fsencode(path)
    try:
        return h5py.File(h5py.h5f.open(name, flags, fapl=access))
    except OSError as error:
        if "locking flag" not in str(error):
            raise
        access.set_file_locking(True, ignore_when_disabled=True)
        return h5py.File(h5py.h5f.open(name, flags, fapl=access))


def open_file(path) -> h5py.File:
    """The file, open for reading. A reader must never hinder the writer."""
    path = Path(path)
    if not path.exists():
        raise AnalysisError(path, "no such file", "check the path, or run `dbench run` first")
    if path.is_dir():
        raise AnalysisError(path, "is a folder, not a result file", "name a file in it")
    if not path.is_file():
        raise AnalysisError(path, "is no regular file", "give the .h5 file that `dbench run` wrote")
    if not os.access(path, os.R_OK):
        raise AnalysisError(path, "cannot be read: permission denied", f"try `chmod u+r {path}`")
    until = time.monotonic() + PATIENCE
    while True:
        flags, late = writer_flags(path), time.monotonic() > until
        closing = flags & WRITING and not flags & SWMR
        try:
            if flags and late:
                return h5py.File(_Wiped(path), "r")
            if not closing:
                return without_lock(path, bool(flags & SWMR))
        except DAMAGE as error:
            if late:
                said = " ".join(str(error).split())
                raise AnalysisError(path, f"HDF5 cannot open it: {said}",
                                    "`dbench doctor FILE` examines the file") from error
        time.sleep(0.1)
