// Tests of every kernel on an emulated device: with blocks and loop iterations in random order,
// kernels give the host's bits.

#include "arena/emulated_device.hpp"
#include "arena/grid/emulated_block.hpp"
#include "arena/kernel_cases.hpp"
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
        kernel.run(host, host_queue());
        EmulatedDevice device(static_cast<uint64_t>(columns.end));
        kernel.run(emulated, device.add_queue());
        CHECK(emulated == before);  // Nothing has run yet.
        device.finish();
        CHECK(emulated == host);
    }
}

TEST_CASE("the scratch memory of a block suffices for as many rows as a GPU holds") {
    const DType type = GENERATE(DType::float32, DType::float64);
    const int64_t count = GENERATE(int64_t{64}, int64_t{65}, int64_t{1008}, int64_t{1700});
    INFO(count << " rows");
    Layout layout;
    layout.add("a", {3}, TensorKind::bias);
    layout.add("b", {kBlock + 500}, TensorKind::weight);
    const Buffer before = random_rows(layout, type, count, 3);
    const Rows rows = before.rows();
    const Columns all = layout.all();
    struct Results {
        Buffer mixed, mean;
        HostVisibleArray<double> means, m2;
    };
    const auto run = [&](Queue& queue) {
        Results r{random_rows(layout, type, count, 3), Buffer(type, 0, 1, layout.columns()),
                  host_memories().values<double>(static_cast<size_t>(layout.columns())),
                  host_memories().values<double>(layout.segments().size())};
        std::vector<std::vector<Term>> ring;
        std::vector<Summand> leaves;
        for (int64_t i = 0; i < count; ++i) {
            const Rows x = r.mixed.rows();
            ring.push_back({{x.at(i, 0), 0.5}, {x.at((i + 1) % count, 0), 0.5}});
            leaves.push_back({{i, i + 1}, rows.at(i, 0)});
        }
        const Interval nodes[] = {{0, count}};
        tree_moments(layout, count, rows, nodes, all, r.means.data(), r.m2.data(), queue);
        tree_mean(type, count, leaves, r.mean.rows().data, all, queue);
        weighted_means(ring, r.mixed.rows(), all, queue);
        return r;
    };
    const Results host = run(host_queue());
    EmulatedDevice device(11);
    const Results emulated = run(device.add_queue());
    device.finish();
    CHECK(same_bits(host.mixed.rows(), emulated.mixed.rows()));
    CHECK(same_bits(host.mean.rows(), emulated.mean.rows()));
    CHECK(host.means == emulated.means);
    CHECK(host.m2 == emulated.m2);
}

/// A wrong kernel body: each iteration reads what another one writes.
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
