// Tests of fill_parts, compared with simple loops.

#include "arena/passes/row_parts.hpp"

#include <numeric>

#include "arena/emulated_device.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

constexpr int64_t kRowPartsColumns = 20000, kRows = 3;

template <class T>
struct Filled {
    std::vector<T> values = std::vector<T>(3 * kRowPartsColumns);
    Buffer to{sizeof(T) == 4 ? DType::float32 : DType::float64, 0, kRows, kRowPartsColumns};

    Filled() {
        std::iota(values.begin(), values.end(), T{1});
        for (int64_t i = 0; i < kRows; ++i)
            std::fill_n(to.rows().template row<T>(i), kRowPartsColumns, 7);
    }
    /// Returns more parts than fit in a launch; one has matrices, one is empty, one has zeros.
    std::vector<RowPart> parts() const {
        const T* const from = values.data();
        std::vector<RowPart> all = {{from, 100, 0, 50},
                                    {from, 6000, 64, 6000, 4, 5},
                                    {from + 3, 0, 7000, 0},
                                    {nullptr, 0, 7008, 5000}};
        for (int64_t k = 0; k < 90; ++k) all.push_back({from + k, 2, 13000 + 16 * k, 1 + k % 16});
        return all;
    }
};

TEMPLATE_TEST_CASE("parts of rows are copied or added in the requested order", "", float, double) {
    using T = TestType;
    const bool adds = GENERATE(false, true), device = GENERATE(false, true);
    Filled<T> f;
    std::vector<T> wanted(kRows * kRowPartsColumns, T{7});
    for (const RowPart& part : f.parts()) {
        for (int64_t i = 0; i < kRows; ++i) {
            for (int64_t k = 0; k < part.count; ++k) {
                int64_t at = k;
                if (part.lines > 0) {
                    const int64_t all = part.lines * part.columns, in = k % all;
                    at = k / all * all + in % part.columns * part.lines + in / part.columns;
                }
                const T value =
                    part.from ? static_cast<const T*>(part.from)[i * part.stride + at] : T{0};
                T& to = wanted[static_cast<size_t>(i * kRowPartsColumns + part.begin + k)];
                to = adds ? to + value : value;
            }
        }
    }
    EmulatedDevice emulated(3, -1, EmulatedDevice::Pace::random);
    Queue& queue = device ? emulated.add_queue() : host_queue();
    fill_parts(f.to.rows(), f.parts(), adds, queue);
    emulated.finish();
    for (int64_t i = 0; i < kRows; ++i) {
        const T* const row = f.to.rows().template row<T>(i);
        CHECK(std::equal(row, row + kRowPartsColumns, wanted.begin() + i * kRowPartsColumns));
    }
}

TEST_CASE("destination rows may have a smaller distance than the stride") {
    const std::vector<double> from = {1, 2, 3, 4, 5, 6};  // Three rows of two numbers.
    std::vector<double> out(8);
    const Rows to{out.data(), DType::float64, Space::host, 0, 3, 100};
    fill_parts(to, std::vector<RowPart>{{from.data(), 2, 1, 2, 0, 0, 2}}, false);
    CHECK(out == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 0});
}

TEST_CASE("a transposition to channels last can be reversed") {
    constexpr int64_t kOut = 5, kIn = 3, kPixels = 9, kAll = kOut * kIn * kPixels;
    std::vector<float> first(kAll), last(kAll), again(kAll);
    std::iota(first.begin(), first.end(), 0.0f);
    const auto rows = [](std::vector<float>& of) {
        return Rows{of.data(), DType::float32, Space::host, 0, 1, kAll};
    };
    fill_parts(rows(last), std::vector<RowPart>{{first.data(), 0, 0, kAll, kPixels, kIn}}, false);
    for (int64_t o = 0; o < kOut; ++o) {
        for (int64_t i = 0; i < kIn; ++i) {
            for (int64_t p = 0; p < kPixels; ++p) {
                REQUIRE(last[static_cast<size_t>((o * kPixels + p) * kIn + i)] ==
                        first[static_cast<size_t>((o * kIn + i) * kPixels + p)]);
            }
        }
    }
    fill_parts(rows(again), std::vector<RowPart>{{last.data(), 0, 0, kAll, kIn, kPixels}}, false);
    CHECK(again == first);
}

}  // namespace
}  // namespace dbench::arena
