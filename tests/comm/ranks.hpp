#pragma once
// Ranks that are threads, and rows for tests.

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "arena/device/place.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"
#include "base/random.hpp"
#include "comm/exchange/exchange.hpp"
#include "comm/placement.hpp"
#include "comm/transport/launcher.hpp"
#include "comm/transport/local_transports.hpp"
#include "comm/world/world.hpp"

namespace dbench::comm::tests {

/// Wraps the transports of a rank.
using Dress = std::function<void(Membership&)>;

/// Runs `part` on `ranks` threads, each as one rank. Returns the errors by rank ("" for none).
inline std::vector<std::string> play(int ranks, const std::function<std::string(World&)>& part,
                                     const Dress& dress = {}) {
    const auto group = local_group(ranks);
    std::vector<std::string> problems(static_cast<size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
            try {
                Membership member = join_local(group, rank);
                if (dress) dress(member);
                World world(std::move(member));
                problems[rank] = part(world);
            } catch (const std::exception& error) {
                problems[rank] = error.what();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    return problems;
}

/// A layout with tensors of awkward sizes, some longer than a block.
inline arena::Layout awkward_layout() {
    arena::Layout layout;
    layout.add("a.weight", {3, 5}, arena::TensorKind::weight);
    layout.add("a.bias", {1}, arena::TensorKind::bias);
    layout.add("b.weight", {101, 97}, arena::TensorKind::weight);
    layout.add("b.bias", {97}, arena::TensorKind::norm);
    layout.add("c.weight", {2 * arena::kBlock}, arena::TensorKind::weight);
    return layout;
}

/// Returns the initial value of a replica's column. Magnitudes differ widely, so that the order of
/// additions changes the result.
inline double initial(int64_t replica, int64_t column) {
    static const std::vector<double> values = [] {
        base::Random random(11, base::Purpose::init);
        std::vector<double> list(65537);
        for (double& value : list) {
            value = random.normal() * std::pow(2.0, static_cast<double>(random.below(12)));
        }
        return list;
    }();
    return values[static_cast<size_t>(replica * 7919 + column) % values.size()];
}

inline void set(arena::Rows rows, int64_t local, int64_t column, double value) {
    arena::with_type(rows.type,
                     [&]<class T>() { rows.row<T>(local)[column] = static_cast<T>(value); });
}

inline double get(arena::Rows rows, int64_t local, int64_t column) {
    return arena::with_type(
        rows.type, [&]<class T>() { return static_cast<double>(rows.row<T>(local)[column]); });
}

/// Returns the rows of `count` replicas from `first` on, with zeroed padding.
inline arena::Buffer replicas(const arena::Layout& layout, arena::DType type, int64_t first,
                              int64_t count, const arena::Place& place = arena::host_place()) {
    arena::Buffer buffer = place.rows(type, first, count, layout.columns());
    for (int64_t i = 0; i < count; ++i) {
        for (const arena::Tensor& tensor : layout.tensors()) {
            for (int64_t c = tensor.offset; c < tensor.offset + tensor.numel; ++c) {
                set(buffer.rows(), i, c, initial(first + i, c));
            }
        }
    }
    return buffer;
}

/// Returns ranges of columns that are cut where buckets may be cut, and at odd multiples of 64
/// bytes.
inline std::vector<arena::Columns> cuts(const arena::Layout& layout) {
    const int64_t end = layout.columns();
    return {{0, 16}, {16, 1024}, {1024, 1024}, {1024, end - 48}, {end - 48, end}};
}

/// Returns the first difference between `part` (some replicas) and the same replicas in `whole`; ""
/// for none.
inline std::string difference(arena::Rows part, arena::Rows whole, int64_t columns) {
    for (int64_t i = 0; i < part.count; ++i) {
        const int64_t replica = part.first + i;
        const auto bytes = static_cast<size_t>(columns * arena::size_of(part.type));
        if (!std::memcmp(part.at(i, 0), whole.at(replica - whole.first, 0), bytes)) continue;
        for (int64_t c = 0; c < columns; ++c) {
            const double a = get(part, i, c), b = get(whole, replica - whole.first, c);
            if (a != b) {
                return "replica " + std::to_string(replica) + " column " + std::to_string(c) +
                       ": " + std::to_string(a) + " is not " + std::to_string(b);
            }
        }
    }
    return "";
}

}  // namespace dbench::comm::tests
