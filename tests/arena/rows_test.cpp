#include "arena/rows.hpp"

#include <cstdint>
#include <new>
#include <set>
#include <vector>

#include "catch.hpp"

namespace dbench::arena {
namespace {

bool aligned(const Rows& rows, uintptr_t bytes) {
    return reinterpret_cast<uintptr_t>(rows.data) % bytes == 0;
}

TEST_CASE("a buffer is zeroed and aligned, small or large") {
    for (const DType type : {DType::float32, DType::float64}) {
        for (const int64_t stride : {16, 4096, 1 << 20}) {
            const Buffer buffer(type, 5, 3, stride);
            const Rows rows = buffer.rows();
            CHECK(buffer.bytes() == 3 * stride * size_of(type));
            CHECK(aligned(rows, 64));
            bool zero = true;
            for (int64_t b = 0; b < buffer.bytes(); ++b) zero &= *(rows.at(0, 0) + b) == 0;
            CHECK(zero);
        }
    }
}

TEST_CASE("large buffers of one size do not all start at the same offset in a page") {
    std::vector<Buffer> buffers;
    std::set<uintptr_t> places;
    for (int k = 0; k < 8; ++k) {
        buffers.emplace_back(DType::float32, 0, 1, 1 << 21);
        places.insert(reinterpret_cast<uintptr_t>(buffers.back().rows().data) % 4096);
    }
    CHECK(places.size() > 2);
}

TEST_CASE("elements are addressed by local row and column") {
    const Buffer buffer(DType::float64, 7, 4, 32);
    const Rows rows = buffer.rows();
    rows.row<double>(2)[5] = 1.5;
    CHECK(*reinterpret_cast<double*>(rows.at(2, 5)) == 1.5);
    const Rows one = rows.only(2);
    CHECK(one.first == 9);
    CHECK(one.count == 1);
    CHECK(one.row<double>(0)[5] == 1.5);
}

TEST_CASE("a buffer without rows has no memory; an impossible size is refused") {
    CHECK(Buffer().rows().count == 0);
    CHECK(Buffer(DType::float32, 0, 0, 64).rows().data == nullptr);
    CHECK_THROWS_AS(Buffer(DType::float64, 0, int64_t{1} << 40, int64_t{1} << 40), std::bad_alloc);
}

}  // namespace
}  // namespace dbench::arena
