"""Opens a result file that is finished, still being written, or left by a killed writer.

HDF5 stores in the superblock (version 3) which writer has the file open:
* no writer: the file was closed.
* a writer in single-writer/multiple-reader mode (SWMR): the file must be opened with `swmr=True`,
  which finds all flushed data, whether the writer lives or was killed.
* a writer without that mode: the writer is closing the file (it reopens it to set `status`), or it
  died while closing. HDF5 refuses such a file.
This module waits for a short time. Then it reads a refused file, and a file that cannot be read in
the mode of its superblock, through a view in which the superblock says that nobody writes the
file. It never writes to a file.
"""

import ctypes
import io
import os
import time
from pathlib import Path

import h5py

from ..basics.errors import DAMAGE, AnalysisError
from .checksum import lookup3
from .files import regular

SIGNATURE = b"\x89HDF\r\n\x1a\n"
FLAGS_AT = 11  # offset of the flags in superblock versions 2 and 3
WRITING, SWMR = 0x01, 0x04  # bits of the flags
PATIENCE = 1.0  # seconds that a writer gets to finish closing the file
ATTEMPTS = 24  # as in the program; the pauses between them add up to 20 ms


def writer_flags(path: Path) -> int:
    """Return the consistency flags of the superblock; 0 if the file was closed properly or its
    format has no flags."""
    with regular(path) as file:
        head = file.read(48)
    if not head:
        raise AnalysisError(path, "the file is empty", "its run ended before anything was written")
    if not head.startswith(SIGNATURE):
        raise AnalysisError(path, "not an HDF5 file", "give the .h5 file that `dbench run` wrote")
    return head[FLAGS_AT] if len(head) == 48 and head[8] >= 3 else 0


class _Wiped(io.RawIOBase):
    """A read-only view of a file whose superblock says that nobody writes the file and that the
    file ends at its current size. In SWMR mode the stored end lags behind the real end."""

    def __init__(self, path: Path):
        self._file = regular(path)
        head = self._file.read(48)
        width = head[9]  # bytes of each of the four addresses after byte 12; the third is the end
        end, size = 12 + 2 * width, os.fstat(self._file.fileno()).st_size
        head = (head[:FLAGS_AT] + b"\0" + head[FLAGS_AT + 1 : end] + size.to_bytes(width, "little")
                + head[end + width : 12 + 4 * width])
        self._head = head + lookup3(head).to_bytes(4, "little")
        self._file.seek(0)

    def plain_value(self):
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
    """Limit how often HDF5 tries to read metadata in SWMR mode. By default it tries 100 times and
    doubles the pause each time, which never ends for a damaged file. h5py has no function for this
    setting."""
    hdf5 = ctypes.CDLL(h5py.h5p.__file__)
    hdf5.H5Pset_metadata_read_attempts(ctypes.c_int64(access.id), ctypes.c_uint(ATTEMPTS))


def without_lock(path: Path, swmr: bool) -> h5py.File:
    """Open the file without a lock. If this process already has the file open with a lock, open it
    with a lock, because HDF5 requires the same choice."""
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


def other_file(file: h5py.File) -> str:
    """Return what in a file makes HDF5 read another file; "" if nothing does. No other file is
    opened for it."""
    found: list[str] = []

    def look(name: bytes, link) -> bool | None:
        why = ""
        if link.type not in (h5py.h5l.TYPE_HARD, h5py.h5l.TYPE_SOFT):
            why = "is a link to another file"
        elif link.type == h5py.h5l.TYPE_HARD:
            try:
                why = stored(h5py.h5o.open(file.id, name))
            except DAMAGE:  # the damaged object is named when it is read
                pass
        if why:
            found.append(f"/{name.decode('utf-8', 'replace')} {why}")
        return True if why else None  # True ends the visit

    try:
        file.id.links.visit(look, info=True)
    except DAMAGE:
        pass
    return found[0] if found else ""


def stored(thing) -> str:
    """Return why reading an HDF5 object reads another file; "" if it does not."""
    if not isinstance(thing, h5py.h5d.DatasetID):
        return ""
    how = thing.get_create_plist()
    if how.get_external_count():
        return "is stored in another file"
    virtual = how.get_layout() == h5py.h5d.VIRTUAL
    return "is a virtual data set, which is made of other files" if virtual else ""


def own(path: Path, file: h5py.File) -> h5py.File:
    """Return the file if everything that it shows stands in it; else close it and raise
    AnalysisError: a result file must not make a program read another file."""
    why = other_file(file)
    if why:
        file.close()
        raise AnalysisError(path, f"{why}, and a result file refers to no other file",
                            "give the .h5 file that `dbench run` wrote")
    return file


def open_file(path) -> h5py.File:
    """Return the file, open for reading. Reading never blocks the writer. Raises AnalysisError if
    the file does not exist, is not a regular file or not an HDF5 file, refers to another file, or
    is too damaged to open."""
    path = Path(path)
    until = time.monotonic() + PATIENCE
    while True:
        flags, late = writer_flags(path), time.monotonic() > until
        closing = flags & WRITING and not flags & SWMR
        try:
            if flags and late:
                return own(path, h5py.File(_Wiped(path), "r"))
            if not closing:
                return own(path, without_lock(path, bool(flags & SWMR)))
        except DAMAGE as error:
            if late:
                problem = " ".join(str(error).split())
                raise AnalysisError(path, f"HDF5 cannot open it: {problem}",
                                    "`dbench doctor FILE` examines the file") from error
        time.sleep(0.1)
