// Every kernel on an emulated device: blocks and the iterations of their loops in random order give
// the host's bits.

#include "arena/emulated_device.hpp"
#include "arena/kernel_cases.hpp"
#include "arena/kernels/emulated_block.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

using cases::kKernels;
using cases::Material;

TEST_CASE("every kernel gives the host's bits on an emulated device") {
    const DType type = GENERATE(DType::float32, DType::float64);
    const int64_t all = ragged_layout().columns();
    const Columns columns =
        GENERATE_COPY(Columns{0, all}, Columns{16, 32}, Columns{4096 + 16, all - 16});
    const Material before(type, columns);
    for (const cases::Case& kernel : kKernels) {
        INFO(kernel.name << ", columns " << columns.begin << " to " << columns.end);
        Material host(before), emulated(before);
        kernel.run(host, nullptr);
        EmulatedDevice device(static_cast<uint64_t>(columns.end));
        kernel.run(emulated, device.add_queue());
        CHECK(emulated == before);  // nothing has run yet
        device.finish();
        CHECK(emulated == host);
    }
}

/// Each iteration reads what another one writes.
struct Shift {
    float* x;
    template <class Block>
    void operator()(Block& block, int64_t) const {
        block.for_each(100, [this](int64_t c) { x[c + 1] = x[c]; });
    }
    int64_t scratch_bytes() const { return 0; }
};

TEST_CASE("a loop whose iterations depend on each other gives other bits in another order") {
    std::vector<std::vector<float>> results;
    for (uint64_t order = 0; order < 2; ++order) {
        std::vector<float>& x = results.emplace_back(101);
        for (size_t c = 0; c < x.size(); ++c) x[c] = static_cast<float>(c);
        run_emulated(Shift{x.data()}, 0, order);
    }
    CHECK(results[0] != results[1]);
}

}  // namespace
}  // namespace dbench::arena
