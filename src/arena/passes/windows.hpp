#pragma once
// Windows of pictures that lie in memory as bytes, gathered as numbers: how a device makes a
// minibatch of samples that it holds.

#include <cstdint>
#include <span>

#include "arena/device/queue.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// So many of them, one after another: bytes [count, planes, height, width].
struct Pictures {
    const uint8_t* bytes = nullptr;
    int64_t count = 0, planes = 0, height = 0, width = 0;
    constexpr int64_t numel() const { return planes * height * width; }
};

/// As large as its picture, with the pixel (0, 0) at the picture's (top, left); bytes are 0 where
/// it reaches beyond the picture. Mirrored: the left side is the right one.
struct Window {
    int64_t picture;
    int32_t top, left;
    bool mirrored;
};

enum class Planes : uint8_t { first, last };

/// out[k] is the window windows[k], the byte b in plane c as values[c, b]. `values` [planes, 256]
/// and `out` are of `type`; out is [windows, planes, height, width], or with planes last. A picture
/// has fewer than 2^31 bytes.
void gather_windows(const Pictures& pictures, std::span<const Window> windows, const void* values,
                    DType type, Planes planes, void* out, Queue* queue = nullptr);

}  // namespace dbench::arena
