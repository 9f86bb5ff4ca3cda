#include <tuple>

#include "catch.hpp"
#include "comm/moment_checks.hpp"

namespace dbench::comm::tests {

TEST_CASE("Moments equal their definition") {
    const arena::Layout layout = awkward_layout();
    for (const int n : {1, 2, 3, 7}) {
        World world{alone()};
        const MomentsSeen seen = moments_of(world, n, layout, arena::DType::float64);
        REQUIRE(seen.m2.size() == layout.tensors().size());
        CHECK(seen.bytes == 0);
        for (size_t t = 0; t < seen.m2.size(); ++t) {
            const arena::Tensor& tensor = layout.tensors()[t];
            double m2 = 0;
            for (int64_t c = tensor.offset; c < tensor.offset + tensor.numel; ++c) {
                double mean = 0;
                for (int i = 0; i < n; ++i) mean += initial(i, c) / n;
                CHECK(seen.mean[c] == Approx(mean).margin(1e-9));
                for (int i = 0; i < n; ++i) m2 += std::pow(initial(i, c) - mean, 2);
            }
            CHECK(seen.m2[t] == Approx(m2));
        }
    }
}

TEST_CASE("Moments have the same bits on any number of ranks") {
    const arena::Layout layout = awkward_layout();
    for (const arena::DType type : {arena::DType::float32, arena::DType::float64}) {
        for (const int n : {2, 3, 5, 8, 11}) {
            World alone{comm::alone()};
            const MomentsSeen expected = moments_of(alone, n, layout, type);
            for (int ranks = 1; ranks <= std::min(n, 4); ++ranks) {
                for (const std::string& problem : play(ranks, [&](World& world) {
                         return check_moments(world, n, layout, type, expected);
                     })) {
                    CHECK(problem == "");
                }
            }
        }
    }
}

TEST_CASE("Identical replicas have moments of exactly zero on any number of ranks") {
    const arena::Layout layout = awkward_layout();
    const int n = 7;
    for (int ranks = 1; ranks <= 4; ++ranks) {
        const auto problems = play(ranks, [&](World& world) -> std::string {
            const Placement placement{n, world.size()};
            Exchange exchange(world, placement, layout, nullptr, Reduction::reproducible);
            const int64_t count = placement.count(world.rank());
            arena::Buffer x(arena::DType::float32, placement.begin(world.rank()), count,
                            layout.columns());
            for (int64_t i = 0; i < count; ++i) {
                for (int64_t c = 0; c < layout.columns(); ++c) set(x.rows(), i, c, initial(0, c));
            }
            for (const double m2 : exchange.moments(x.rows(), nullptr).m2) {
                if (m2 != 0) return "m2 = " + std::to_string(m2);
            }
            return "";
        });
        for (const std::string& problem : problems) CHECK(problem == "");
    }
}

TEST_CASE("A single float32 row is sent unchanged, means of several rows in float64") {
    arena::Layout layout;
    layout.add("weights", {1 << 16}, arena::TensorKind::weight);
    for (const auto& [n, type, bytes_each] :
         {std::tuple{4, arena::DType::float32, 4}, std::tuple{4, arena::DType::float64, 8},
          std::tuple{8, arena::DType::float32, 8}}) {
        for (const std::string& problem :
             play(4, [&, n = n, type = type, each = bytes_each](World& world) -> std::string {
                 const Placement placement{n, world.size()};
                 Exchange exchange(world, placement, layout, nullptr, Reduction::reproducible);
                 const arena::Buffer x = replicas(layout, type, placement.begin(world.rank()),
                                                  placement.count(world.rank()));
                 const auto bytes = static_cast<int64_t>(exchange.moments(x.rows(), nullptr).bytes);
                 // Three quarters of the row, its padding, and one or two float64 per segment.
                 const int64_t row = int64_t{3} * (1 << 14) * each;
                 return bytes >= row && bytes < row + 2048 ? "" : std::to_string(bytes) + " bytes";
             })) {
            CHECK(problem == "");
        }
    }
}

TEST_CASE("Moments of a row that is longer than one block of scratch") {
    arena::Layout layout;
    layout.add("small", {33}, arena::TensorKind::bias);
    layout.add("long", {5'000'000}, arena::TensorKind::weight);
    const int n = 3;
    const auto spread = [&](World& world) {
        const Placement placement{n, world.size()};
        Exchange exchange(world, placement, layout, nullptr, Reduction::reproducible);
        arena::Buffer x(arena::DType::float32, placement.begin(world.rank()),
                        placement.count(world.rank()), layout.columns());
        for (int64_t i = 0; i < x.rows().count; ++i) {
            float* const row = x.rows().row<float>(i);
            for (int64_t c = 0; c < 33; ++c) row[c] = 1;
            const int64_t first = layout.tensors()[1].offset;
            for (int64_t c = 0; c < 5'000'000; ++c) {
                row[first + c] = static_cast<float>(c) * static_cast<float>(x.rows().first + i);
            }
        }
        return exchange.moments(x.rows(), nullptr).m2;
    };
    World alone{comm::alone()};
    const std::vector<double> expected = spread(alone);
    // Deviations -c, 0, c: the sum is 2 c^2, except for the rounding of c to float32.
    const double m = 5e6 - 1;
    CHECK(expected[0] == 0);
    CHECK(expected[1] == Approx(m * (m + 1) * (2 * m + 1) / 3).epsilon(1e-6));
    for (const std::string& problem : play(2, [&](World& world) -> std::string {
             return spread(world) == expected ? "" : "other bits";
         })) {
        CHECK(problem == "");
    }
}

}  // namespace dbench::comm::tests
