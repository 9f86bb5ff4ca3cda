#pragma once
// Checks of mixing and all-reduce for any World. Each returns "" or a description of the error.

#include "arena/kernels.hpp"
#include "comm/ranks.hpp"
#include "comm/schedules.hpp"

namespace dbench::comm::tests {

/// Returns W x as one process that holds all replicas computes it.
inline arena::Buffer mixed_alone(const DenseSchedule& schedule, const arena::Layout& layout,
                                 arena::DType type,
                                 arena::ElementCodec codec = arena::ElementCodec::identity) {
    World world{alone()};
    const Placement placement{schedule.size(), 1};
    Exchange exchange(world, placement, layout, &schedule, Reduction::reproducible, codec);
    const arena::Buffer x = replicas(layout, type, 0, schedule.size());
    arena::Buffer out(type, 0, schedule.size(), layout.columns());
    exchange.mix({0, true}, x.rows(), layout.all(), out.rows());
    return out;
}

/// Compares `out` with W x in float64: no element may differ by more than `tolerance` times the sum
/// of the magnitudes of its summands.
inline std::string against_dense(const DenseSchedule& schedule, const arena::Layout& layout,
                                 arena::Rows out, double tolerance) {
    const int n = schedule.size();
    for (int64_t local = 0; local < out.count; ++local) {
        const int64_t i = out.first + local;
        for (const arena::Tensor& tensor : layout.tensors()) {
            for (int64_t c = tensor.offset; c < tensor.offset + tensor.numel; c += 37) {
                double sum = 0, size = 0;
                for (int j = 0; j < n; ++j) {
                    const double x = arena::with_type(out.type, [&]<class T>() {
                        return static_cast<double>(static_cast<T>(initial(j, c)));
                    });
                    sum += schedule.matrix()[i][j] * x;
                    size += std::abs(schedule.matrix()[i][j] * x);
                }
                if (!(std::abs(get(out, local, c) - sum) <= tolerance * size)) {
                    return "replica " + std::to_string(i) + " column " + std::to_string(c) + ": " +
                           std::to_string(get(out, local, c)) + " is not " + std::to_string(sum);
                }
            }
        }
    }
    return "";
}

/// Makes rows in memory that other ranks of the host can read in place, if there is such memory.
inline arena::Buffer peer_readable(Exchange& exchange, arena::Rows like) {
    exchange.share_host_memory();
    const arena::Memory memory = exchange.peer_readable_memory();
    if (!memory) return {like.type, like.first, like.count, like.stride};
    return {like.type, like.first, like.count, like.stride, memory};
}

/// Rows that are read in place are mixed to the same bits, again and again, whatever the owner
/// writes to them in between.
inline std::string check_rows_in_place(Exchange& exchange, const arena::Layout& layout,
                                       const arena::Buffer& start, const arena::Buffer& expected) {
    const arena::Rows from = start.rows();
    const arena::Buffer x = peer_readable(exchange, from);
    const arena::Buffer out(from.type, from.first, from.count, from.stride);
    const auto columns = layout.tiles(layout.all(), arena::kBlock);
    std::vector<Token> in_place(columns.size());
    std::string problems;
    for (int time = 0; time < 3; ++time) {
        for (size_t k = 0; k < columns.size(); ++k) {
            if (in_place[k]) exchange.reclaim(in_place[k]);
            // No other rank may see these values.
            arena::scale(x.rows(), columns[k], -3.0);
            arena::copy(from, x.rows(), columns[k]);
            in_place[k] =
                exchange.start_mix({0, true}, x.rows(), columns[k], RowLifetime::until_reclaimed);
        }
        int64_t seen = 0;
        for (const Token& token : in_place) {
            exchange.finish_mix(token, out.rows(),
                                [&](arena::Columns piece) { seen += piece.count(); });
        }
        if (seen != layout.columns()) problems += "some pieces were not reported";
        problems += difference(out.rows(), expected.rows(), layout.columns());
        if (std::memcmp(x.rows().data, from.data, static_cast<size_t>(x.bytes())) != 0) {
            problems += "mixing has changed rows that are read in place";
        }
    }
    return problems;  // the exchange reclaims the last rows
}

/// All ways to mix give the bits of one process.
inline std::string check_mixing(World& world, const DenseSchedule& schedule,
                                const arena::Layout& layout, arena::DType type,
                                const arena::Buffer& expected,
                                arena::ElementCodec codec = arena::ElementCodec::identity) {
    const Placement placement{schedule.size(), world.size()};
    const int64_t first = placement.begin(world.rank()), count = placement.count(world.rank());
    Exchange exchange(world, placement, layout, &schedule, Reduction::reproducible, codec);
    const graphs::Round round{0, true};
    const arena::Buffer start = replicas(layout, type, first, count);
    const auto fresh = [&] {
        arena::Buffer buffer(type, first, count, layout.columns());
        std::memcpy(buffer.rows().data, start.rows().data, static_cast<size_t>(start.bytes()));
        return buffer;
    };
    const auto judge = [&](const char* way, const arena::Buffer& out) {
        const std::string text = difference(out.rows(), expected.rows(), layout.columns());
        return text.empty() ? ""
                            : std::string(way) + ", n = " + std::to_string(schedule.size()) +
                                  ", rank " + std::to_string(world.rank()) + ": " + text;
    };
    std::string problems;
    {
        const arena::Buffer x = fresh();
        const arena::Buffer out(type, first, count, layout.columns());
        exchange.mix(round, x.rows(), layout.all(), out.rows());
        problems += judge("blocking", out);
        if (std::memcmp(x.rows().data, start.rows().data, static_cast<size_t>(x.bytes())) != 0) {
            problems += "mixing into other rows has changed x";
        }
    }
    {
        const arena::Buffer x = fresh();
        exchange.mix(round, x.rows(), layout.all(), x.rows());
        problems += judge("blocking in place", x);
    }
    {
        const arena::Buffer x = fresh();
        const arena::Buffer out(type, first, count, layout.columns());
        exchange.finish_mix(exchange.start_mix(round, x.rows(), layout.all()), out.rows());
        problems += judge("started", out);
    }
    {  // all in flight at once, finished in another order
        const arena::Buffer x = fresh();
        std::vector<Token> tokens;
        for (const arena::Columns columns : cuts(layout)) {
            tokens.push_back(exchange.start_mix(round, x.rows(), columns));
        }
        while (!tokens.empty()) {
            exchange.finish_mix(tokens.back(), x.rows());
            tokens.pop_back();
        }
        problems += judge("in pieces in place", x);
    }
    return problems + check_rows_in_place(exchange, layout, start, expected);
}

/// Every replica holds the bytes of the tree mean after an all-reduce.
inline std::string check_all_reduce(World& world, int n, const arena::Layout& layout,
                                    arena::DType type, const arena::Buffer& expected,
                                    arena::ElementCodec codec = arena::ElementCodec::identity) {
    const Placement placement{n, world.size()};
    Exchange exchange(world, placement, layout, nullptr, Reduction::reproducible, codec);
    const arena::Buffer x =
        replicas(layout, type, placement.begin(world.rank()), placement.count(world.rank()));
    std::vector<Token> tokens;
    for (const arena::Columns columns : cuts(layout)) {
        tokens.push_back(exchange.start_all_reduce(x.rows(), columns));
    }
    for (const Token& token : tokens) exchange.finish_all_reduce(token);
    std::string problems = difference(x.rows(), expected.rows(), layout.columns());

    const arena::Buffer start = replicas(layout, type, x.rows().first, x.rows().count);
    const arena::Buffer in_place = peer_readable(exchange, start.rows());
    tokens.clear();
    for (int time = 0; time < 3; ++time) {
        for (const Token& token : tokens) exchange.reclaim(token);
        tokens.clear();
        arena::copy(start.rows(), in_place.rows(), layout.all());
        for (const arena::Columns columns : cuts(layout)) {
            tokens.push_back(
                exchange.start_all_reduce(in_place.rows(), columns, RowLifetime::until_reclaimed));
        }
        for (const Token& token : tokens) exchange.finish_all_reduce(token);
        problems += difference(in_place.rows(), expected.rows(), layout.columns());
    }
    return problems;
}

}  // namespace dbench::comm::tests
