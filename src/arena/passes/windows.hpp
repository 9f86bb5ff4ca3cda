#pragma once
// Gathers windows of images, stored as bytes, as numbers. A device uses it to make a minibatch of
// samples that are in its memory.

#include <cstdint>
#include <span>

#include "arena/device/queue.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// `count` images, one after another: bytes [count, planes, height, width].
struct Pictures {
    const uint8_t* bytes = nullptr;
    int64_t count = 0, planes = 0, height = 0, width = 0;
    constexpr int64_t numel() const { return planes * height * width; }
};

/// A window of the same size as its image, with pixel (0, 0) at the image's (top, left). Bytes
/// outside the image are 0. If `mirrored`, left and right are exchanged.
struct Window {
    int64_t picture;
    int32_t top, left;
    bool mirrored;
};

/// The position of the dimension of planes in the result.
enum class Planes : uint8_t { first, last };

/// Gathers windows[k] as out[k]; byte b in plane c becomes values[c, b]. `values` [planes, 256] and
/// `out` are of type `type`. `out` is [windows, planes, height, width], or has planes last. An
/// image must have fewer than 2^31 bytes.
void gather_windows(const Pictures& pictures, std::span<const Window> windows, const void* values,
                    DType type, Planes planes, void* out, Queue& queue = host_queue());

}  // namespace dbench::arena
