#pragma once  // Private to arena/grid.
// The scratch memory and the stage of an emulated block. All bytes are initially 0xff, so that
// floating-point values which were never written read as NaN.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "arena/grid/block.hpp"
#include "base/error.hpp"

namespace dbench::arena {

class PoisonedMemory {
public:
    /// Sizes in bytes. `scratch` must not exceed what every device provides.
    PoisonedMemory(int64_t scratch, int64_t stage)
        : scratch_(lines(scratch)), stage_(lines(stage)) {
        DBENCH_EXPECT(scratch <= kMaxScratch);
    }
    char* scratch() { return reinterpret_cast<char*>(scratch_.data()); }
    void* stage() { return stage_.data(); }

private:
    struct alignas(64) Line {
        unsigned char bytes[64];
    };
    static std::vector<Line> lines(int64_t bytes) {
        Line poison;
        std::fill_n(poison.bytes, 64, static_cast<unsigned char>(0xff));
        return std::vector<Line>(static_cast<size_t>((bytes + 63) / 64), poison);
    }

    std::vector<Line> scratch_, stage_;
};

}  // namespace dbench::arena
