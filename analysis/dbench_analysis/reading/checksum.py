"""Bob Jenkins' lookup3 hash (public domain, hashlittle), with which HDF5 guards its metadata."""

MASK = 0xFFFFFFFF


def _rot(x: int, k: int) -> int:
    return ((x << k) | (x >> (32 - k))) & MASK


def _mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    a = (a - c) & MASK ^ _rot(c, 4)
    c = (c + b) & MASK
    b = (b - a) & MASK ^ _rot(a, 6)
    a = (a + c) & MASK
    c = (c - b) & MASK ^ _rot(b, 8)
    b = (b + a) & MASK
    a = (a - c) & MASK ^ _rot(c, 16)
    c = (c + b) & MASK
    b = (b - a) & MASK ^ _rot(a, 19)
    a = (a + c) & MASK
    c = (c - b) & MASK ^ _rot(b, 4)
    b = (b + a) & MASK
    return a, b, c


def _final(a: int, b: int, c: int) -> int:
    c = ((c ^ b) - _rot(b, 14)) & MASK
    a = ((a ^ c) - _rot(c, 11)) & MASK
    b = ((b ^ a) - _rot(a, 25)) & MASK
    c = ((c ^ b) - _rot(b, 16)) & MASK
    a = ((a ^ c) - _rot(c, 4)) & MASK
    b = ((b ^ a) - _rot(a, 14)) & MASK
    return ((c ^ b) - _rot(b, 24)) & MASK


def lookup3(data: bytes, seed: int = 0) -> int:
    """Return the 32-bit hash of `data`."""
    a = b = c = (0xDEADBEEF + len(data) + seed) & MASK
    if not data:
        return c
    words = [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]
    while len(words) > 3:
        a, b, c = (a + words[0]) & MASK, (b + words[1]) & MASK, (c + words[2]) & MASK
        a, b, c = _mix(a, b, c)
        words = words[3:]
    words += [0] * (3 - len(words))
    return _final((a + words[0]) & MASK, (b + words[1]) & MASK, (c + words[2]) & MASK)
