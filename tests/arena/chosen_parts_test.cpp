// Messages of chosen elements: which elements are chosen, on the host and on an emulated device.

#include "arena/messages/chosen_parts.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "arena/emulated_device.hpp"
#include "arena/grid/emulated_block.hpp"
#include "base/random.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

constexpr int64_t kReplicas = 2;

/// Tensors of one piece and of several pieces, the last of which is shorter.
Layout layout_of_pieces() {
    Layout layout;
    layout.add("a", {1}, TensorKind::bias);
    layout.add("b", {2047}, TensorKind::bias);
    layout.add("c", {40000}, TensorKind::weight);
    layout.add("d", {16384}, TensorKind::weight);
    return layout;
}

/// The distribution of elements.
enum class Kind : uint8_t { any, few_values, zeros, not_finite };

Buffer rows_of(const Layout& layout, DType type, Kind kind, uint64_t seed) {
    Buffer buffer(type, 0, kReplicas, layout.columns());
    base::Random random(seed, base::Purpose::regression);
    with_type(type, [&]<class T>() {
        for (int64_t c = 0; c < kReplicas * layout.columns(); ++c) {
            T value = static_cast<T>(random.normal());
            if (kind == Kind::few_values) value = std::round(2 * value);
            if (kind == Kind::zeros) value = random.below(1000) == 0 ? T{-1} : T{0};
            if (kind == Kind::not_finite && random.below(20) == 0) {
                const T infinity = std::numeric_limits<T>::infinity();
                value = random.below(2) ? infinity : random.below(2) ? -infinity : T(NAN);
            }
            buffer.rows().row<T>(0)[c] = value;
        }
    });
    return buffer;
}

/// The definition: a stable sort by magnitude.
template <class T>
std::vector<uint32_t> largest_of(const T* x, int64_t numel, int64_t kept) {
    const auto magnitude = [&](uint32_t c) {
        return std::isnan(x[c]) ? std::numeric_limits<T>::infinity() : std::abs(x[c]);
    };
    std::vector<uint32_t> order(static_cast<size_t>(numel));
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return magnitude(a) > magnitude(b); });
    order.resize(static_cast<size_t>(kept));
    std::sort(order.begin(), order.end());
    return order;
}

TEST_CASE("host and device send the largest elements of every tensor, ties to the lower index") {
    const DType type = GENERATE(DType::float32, DType::float64);
    const Kind kind = GENERATE(Kind::any, Kind::few_values, Kind::zeros, Kind::not_finite);
    const std::vector<int64_t> kept =
        GENERATE(std::vector<int64_t>{1, 2, 400, 16384}, std::vector<int64_t>{1, 2047, 30000, 1});
    const Layout layout = layout_of_pieces();
    const Buffer rows = rows_of(layout, type, kind, 7);
    ChosenParts parts(layout, type, kept, true, false);
    CHECK(parts.bytes() == parts.chosen() * (4 + size_of(type)));
    const int64_t stride = parts.bytes() / size_of(type) + 1;
    const Buffer host(type, 0, kReplicas, stride), emulated(type, 0, kReplicas, stride);

    parts.send_largest(rows.rows(), host.rows());
    with_type(type, [&]<class T>() {
        for (int64_t i = 0; i < kReplicas; ++i) {
            for (const ChosenPart& part : parts.parts()) {
                const T* const x = rows.rows().row<T>(i) + part.column;
                const char* const message = host.rows().at(i, 0);
                const auto expected = largest_of(x, part.numel, part.kept);
                std::vector<uint32_t> sent(expected.size());
                std::memcpy(sent.data(), message + part.indices, 4 * sent.size());
                CHECK(sent == expected);
                std::vector<T> values(expected.size()), of_row(expected.size());
                std::memcpy(values.data(), message + part.values, sizeof(T) * values.size());
                std::transform(expected.begin(), expected.end(), of_row.begin(),
                               [&](uint32_t c) { return x[c]; });
                CHECK(std::memcmp(values.data(), of_row.data(), sizeof(T) * values.size()) == 0);
            }
        }
    });

    EmulatedDevice device(5);
    parts.send_largest(rows.rows(), emulated.rows(), device.add_queue());
    device.finish();
    CHECK(device.conflicts().empty());
    CHECK(std::memcmp(host.rows().data, emulated.rows().data, static_cast<size_t>(host.bytes())) ==
          0);
}

TEST_CASE("elements with known indices are sent and added, also from several messages") {
    const DType type = GENERATE(DType::float32, DType::float64);
    const bool scaled = GENERATE(false, true);
    const Layout layout = layout_of_pieces();
    const std::vector<int64_t> kept{1, 2, 400, 16384};
    const ChosenParts parts(layout, type, kept, false, scaled);
    CHECK(parts.bytes() == parts.chosen() * size_of(type));
    const Buffer rows = rows_of(layout, type, Kind::any, 1),
                 before = rows_of(layout, type, Kind::any, 2);
    std::vector<std::vector<uint32_t>> indices(kReplicas);
    for (size_t i = 0; i < indices.size(); ++i) {
        for (const ChosenPart& part : parts.parts()) {
            for (int64_t c = 0; c < part.kept; ++c) {
                const int64_t step = part.numel / part.kept;
                indices[i].push_back(
                    static_cast<uint32_t>(c * step + (i > 0 && c > 0 ? step - 1 : 0)));
            }
        }
    }
    const std::vector<const uint32_t*> known{indices[0].data(), indices[1].data()};
    EmulatedDevice device(3);
    std::vector<Buffer> results;
    for (const bool emulated : {false, true}) {
        Queue& queue = emulated ? device.add_queue() : host_queue();
        const Buffer messages(type, 0, kReplicas, parts.bytes() / size_of(type));
        const Buffer& out = results.emplace_back(rows_of(layout, type, Kind::any, 2));
        parts.send(rows.rows(), known, messages.rows(), queue);
        std::vector<std::vector<ChosenMessage>> received(kReplicas);
        for (int64_t k : {0, 1, 0}) {
            received[0].push_back(
                {reinterpret_cast<const char*>(known[k]), messages.rows().at(k, 0), 0.5});
        }
        parts.add(out.rows(), received, queue);
        if (emulated) device.finish();
    }
    CHECK(device.conflicts().empty());
    with_type(type, [&]<class T>() {
        std::vector<T> expected(before.rows().row<T>(0),
                                before.rows().row<T>(0) + layout.columns());
        for (const size_t k : {0, 1, 0}) {
            const uint32_t* next = indices[k].data();
            for (const ChosenPart& part : parts.parts()) {
                T factor = T(0.5);
                if (scaled) factor *= static_cast<T>(part.numel) / static_cast<T>(part.kept);
                for (int64_t c = 0; c < part.kept; ++c) {
                    const int64_t column = part.column + *next++;
                    expected[column] +=
                        factor * rows.rows().row<T>(static_cast<int64_t>(k))[column];
                }
            }
        }
        for (const Buffer& out : results) {
            CHECK(std::memcmp(out.rows().row<T>(0), expected.data(), sizeof(T) * expected.size()) ==
                  0);
            CHECK(std::memcmp(out.rows().row<T>(1), before.rows().row<T>(1),
                              sizeof(T) * expected.size()) == 0);
        }
    });
}

/// A kernel body that stores a block's running sums.
struct Running {
    int64_t count;
    uint64_t* sums;
    template <class Block>
    void operator()(Block& block, int64_t) const {
        block.running_sums(
            5, count, [](int64_t c) { return static_cast<uint64_t>(c % 3); },
            [this](int64_t c, uint64_t sum) { sums[c] = sum; });
    }
    int64_t scratch_bytes() const { return 0; }
};

TEST_CASE("running sums do not depend on the order of threads") {
    for (const int64_t count : {0, 1, 33, 34, 989, 990, 991, 4000}) {
        std::vector<uint64_t> sums(static_cast<size_t>(count)), expected;
        run_emulated(Running{count, sums.data()}, 0, 9);
        uint64_t sum = 5;
        for (int64_t c = 0; c < count; ++c) {
            expected.push_back(sum);
            sum += static_cast<uint64_t>(c % 3);
        }
        CHECK(sums == expected);
    }
}

}  // namespace
}  // namespace dbench::arena
