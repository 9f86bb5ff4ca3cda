#pragma once
// What a block of an emulated device has of its own, in which what nobody has written is not a
// number.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "arena/grid/block.hpp"
#include "base/error.hpp"

namespace dbench::arena {

class PoisonedMemory {
public:
    /// Bytes of scratch, no more than every device has, and of a stage.
    PoisonedMemory(int64_t scratch, int64_t stage)
        : scratch_(lines(scratch)), stage_(lines(stage)) {
        DBENCH_EXPECT(scratch <= kMostScratch);
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
