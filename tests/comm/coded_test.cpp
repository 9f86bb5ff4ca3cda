// Rows in 16 bits: the result, the preserved mean, and bits that do not depend on the ranks.

#include <cmath>

#include "catch.hpp"
#include "comm/counting_transports.hpp"
#include "comm/environment.hpp"
#include "comm/mixing_checks.hpp"

namespace dbench::comm::tests {
namespace {

constexpr arena::ElementCodec kCodecs[] = {arena::ElementCodec::bfloat16,
                                           arena::ElementCodec::float16};
constexpr arena::DType kCodedTypes[] = {arena::DType::float32, arena::DType::float64};

double quantized(arena::ElementCodec codec, double x) {
    arena::quantize(codec, arena::DType::float64, &x, &x, 1);
    return x;
}

double element(arena::DType type, int replica, int64_t column) {
    return arena::with_type(type, [&]<class T>() {
        return static_cast<double>(static_cast<T>(initial(replica, column)));
    });
}

/// Compares with x_i + sum_j w_ij (Q(x_j) - Q(x_i)) in float64.
std::string against_definition(const DenseSchedule& schedule, const arena::Layout& layout,
                               arena::ElementCodec codec, arena::Rows out, double tolerance) {
    const int n = schedule.size();
    for (int i = 0; i < n; ++i) {
        for (const arena::Tensor& tensor : layout.tensors()) {
            for (int64_t c = tensor.offset; c < tensor.offset + tensor.numel; c += 37) {
                const double x = element(out.type, i, c), own = quantized(codec, x);
                double sum = x, size = std::abs(x);
                for (int j = 0; j < n; ++j) {
                    const double w = schedule.matrix()[i][j];
                    const double other = quantized(codec, element(out.type, j, c));
                    sum += w * (other - own);
                    size += std::abs(w) * (std::abs(other) + std::abs(own));
                }
                if (!(std::abs(get(out, i, c) - sum) <= tolerance * size)) {
                    return "replica " + std::to_string(i) + " column " + std::to_string(c) + ": " +
                           std::to_string(get(out, i, c)) + " is not " + std::to_string(sum);
                }
            }
        }
    }
    return "";
}

struct ColumnSpread {
    double mean, deviation;
};
ColumnSpread spread(arena::Rows x, int64_t column) {
    double mean = 0, square = 0;
    for (int64_t i = 0; i < x.count; ++i) mean += get(x, i, column);
    mean /= static_cast<double>(x.count);
    for (int64_t i = 0; i < x.count; ++i) square += std::pow(get(x, i, column) - mean, 2);
    return {mean, std::sqrt(square / static_cast<double>(x.count))};
}

}  // namespace

TEST_CASE("Coded mixing equals its definition") {
    const arena::Layout layout = awkward_layout();
    for (int n = 1; n <= 9; ++n) {
        for (const DenseSchedule& schedule : all_schedules(n)) {
            for (const arena::ElementCodec codec : kCodecs) {
                for (const arena::DType type : kCodedTypes) {
                    const arena::Buffer out = mixed_alone(schedule, layout, type, codec);
                    const double tolerance = type == arena::DType::float32 ? 4e-7 * n : 5e-16 * n;
                    CHECK(against_definition(schedule, layout, codec, out.rows(), tolerance) == "");
                }
            }
        }
    }
}

TEST_CASE("Coded mixing gives the same bits on any number of ranks") {
    const arena::Layout layout = awkward_layout();
    for (const int n : {1, 2, 4, 5, 9}) {
        for (const DenseSchedule& schedule : all_schedules(n)) {
            for (const arena::ElementCodec codec : kCodecs) {
                const arena::DType type = arena::DType::float32;
                const arena::Buffer expected = mixed_alone(schedule, layout, type, codec);
                for (int ranks = 2; ranks <= std::min(n, 4); ++ranks) {
                    for (const std::string& problem : play(ranks, [&](World& world) {
                             return check_mixing(world, schedule, layout, type, expected, codec);
                         })) {
                        CHECK(problem == "");
                    }
                }
            }
        }
    }
}

TEST_CASE("A coded all-reduce is the rounded mean of rounded rows on any number of ranks") {
    const arena::Layout layout = awkward_layout();
    const arena::DType type = arena::DType::float32;
    for (const int n : {1, 2, 3, 5, 8}) {
        for (const arena::ElementCodec codec : kCodecs) {
            const auto reduce = [&](World& world) {
                const Placement placement{n, world.size()};
                Exchange exchange(world, placement, layout, nullptr, Reduction::reproducible,
                                  codec);
                arena::Buffer x = replicas(layout, type, placement.begin(world.rank()),
                                           placement.count(world.rank()));
                exchange.finish_all_reduce(exchange.start_all_reduce(x.rows(), layout.all()));
                return x;
            };
            World one{alone()};
            const arena::Buffer expected = reduce(one);
            for (int64_t c = 0; c < layout.tensors()[0].numel; c += 37) {
                double mean = 0, size = 0;
                for (int i = 0; i < n; ++i) {
                    mean += quantized(codec, element(type, i, c)) / n;
                    size += std::abs(quantized(codec, element(type, i, c))) / n;
                }
                // The rounding of the mean may add half a unit in the last place in either
                // direction.
                const double last = codec == arena::ElementCodec::bfloat16 ? 1.0 / 256 : 1.0 / 2048;
                CHECK(std::abs(get(expected.rows(), 0, c) - mean) <=
                      std::abs(mean) * last + 1e-6 * size + 1e-7);
                CHECK(get(expected.rows(), 0, c) == quantized(codec, get(expected.rows(), 0, c)));
                CHECK(get(expected.rows(), n - 1, c) == get(expected.rows(), 0, c));
            }
            for (int ranks = 2; ranks <= std::min(n, 4); ++ranks) {
                for (const std::string& problem : play(ranks, [&](World& world) {
                         return check_all_reduce(world, n, layout, type, expected, codec);
                     })) {
                    CHECK(problem == "");
                }
            }
        }
    }
}

TEST_CASE("Rows are read in place with every codec and any size of group") {
    const arena::Layout layout = awkward_layout();
    const DenseSchedule ring = circulant(4, {1, -1}), everybody = complete(12);
    for (const DenseSchedule* schedule : {&ring, &everybody}) {
        for (const arena::ElementCodec codec :
             {arena::ElementCodec::identity, arena::ElementCodec::bfloat16}) {
            const arena::DType type = arena::DType::float32;
            const arena::Buffer expected = mixed_alone(*schedule, layout, type, codec);
            for (const char* in_place : {"0", "1"}) {
                const Environment setting("DBENCH_READ_IN_PLACE", in_place);
                Traffic sent;
                const auto count = [&](Membership& member) {
                    member.rows = std::make_unique<CountingRows>(std::move(member.rows), sent);
                };
                for (const std::string& problem : play(
                         4,
                         [&](World& world) {
                             const Placement placement{schedule->size(), 4};
                             Exchange exchange(world, placement, layout, schedule,
                                               Reduction::reproducible, codec);
                             const arena::Buffer start =
                                 replicas(layout, type, placement.begin(world.rank()),
                                          placement.count(world.rank()));
                             return check_rows_in_place(exchange, layout, start, expected);
                         },
                         count)) {
                    CHECK(problem == "");
                }
                CHECK((sent.bytes == 0) == (std::string(in_place) == "1"));
            }
        }
    }
}

TEST_CASE("Coded averaging preserves the mean and converges at the rate of W") {
    const arena::Layout layout = awkward_layout();
    for (const DenseSchedule& schedule : {circulant(8, {1, -1}), complete(8)}) {
        for (const arena::ElementCodec codec : kCodecs) {
            World world{alone()};
            Exchange exchange(world, {8, 1}, layout, &schedule, Reduction::reproducible, codec);
            const arena::Buffer x = replicas(layout, arena::DType::float32, 0, 8);
            const ColumnSpread before = spread(x.rows(), 0);
            for (int t = 0; t < 40; ++t) {
                exchange.mix({0, true}, x.rows(), layout.all(), x.rows());
            }
            const ColumnSpread after = spread(x.rows(), 0);
            CHECK(std::abs(after.mean - before.mean) <= 40 * 1e-7 * (std::abs(before.mean) + 1));
            // Differences shrink to some units in the last place of the codec.
            CHECK(after.deviation <= 0.02 * before.deviation);
        }
    }
}

TEST_CASE("Equal replicas remain equal to the bit") {
    const arena::Layout layout = awkward_layout();
    for (const DenseSchedule& schedule : {circulant(8, {1, -1}), complete(8), arbitrary(8, 3)}) {
        for (const arena::ElementCodec codec : kCodecs) {
            World world{alone()};
            Exchange exchange(world, {8, 1}, layout, &schedule, Reduction::reproducible, codec);
            const arena::Buffer x(arena::DType::float32, 0, 8, layout.columns());
            for (int64_t i = 0; i < 8; ++i) {
                for (int64_t c = 0; c < layout.columns(); ++c) {
                    x.rows().row<float>(i)[c] = static_cast<float>(initial(3, c));
                }
            }
            const arena::Buffer out(arena::DType::float32, 0, 8, layout.columns());
            exchange.mix({0, true}, x.rows(), layout.all(), out.rows());
            CHECK(difference(out.rows(), x.rows(), layout.columns()) == "");
        }
    }
}

}  // namespace dbench::comm::tests
