#include "catch.hpp"
#include "comm/message_checks.hpp"
#include "comm/mixing_checks.hpp"
#include "comm/moment_checks.hpp"
#include "comm/transport/mpi_transports.hpp"

namespace dbench::comm::tests {
namespace {

constexpr arena::DType kMixingMpiTypes[] = {arena::DType::float32, arena::DType::float64};

}  // namespace

TEST_CASE("Mixing over MPI gives the bits of one process") {
    World world{launch()};
    const arena::Layout layout = awkward_layout();
    for (int n = world.size(); n <= 9; ++n) {
        for (const DenseSchedule& schedule : all_schedules(n)) {
            for (const arena::DType type : kMixingMpiTypes) {
                const arena::Buffer expected = mixed_alone(schedule, layout, type);
                CHECK(check_mixing(world, schedule, layout, type, expected) == "");
            }
        }
    }
}

TEST_CASE("Opaque messages over MPI reach all their users") {
    World world{launch()};
    for (int n = world.size(); n <= 9; ++n) {
        for (const DenseSchedule& schedule : all_schedules(n)) {
            CHECK(check_messages(world, schedule) == "");
            CHECK(check_link_messages(world, schedule) == "");
        }
    }
}

TEST_CASE("An all-reduce over MPI gives the bits of one process") {
    World world{launch()};
    const arena::Layout layout = awkward_layout();
    for (int n = world.size(); n <= 9; ++n) {
        for (const arena::DType type : kMixingMpiTypes) {
            const arena::Buffer expected = mixed_alone(complete(n), layout, type);
            CHECK(check_all_reduce(world, n, layout, type, expected) == "");
        }
    }
}

TEST_CASE("The library's all-reduce is the mean, the same on all replicas") {
    World world{launch()};
    const arena::Layout layout = awkward_layout();
    const DenseSchedule graph = complete(7);
    const Placement placement{7, world.size()};
    Exchange exchange(world, placement, layout, &graph, Reduction::library);
    const arena::Buffer x = replicas(layout, arena::DType::float64, placement.begin(world.rank()),
                                     placement.count(world.rank()));
    const arena::Buffer out(arena::DType::float64, x.rows().first, x.rows().count,
                            layout.columns());
    // Sums of several exchanges, finished in a different order.
    const Token mix = exchange.start_mix({0, true}, x.rows(), layout.all());
    const arena::Buffer y = replicas(layout, arena::DType::float64, x.rows().first, x.rows().count);
    const Token first = exchange.start_all_reduce(y.rows(), {0, 1024});
    const Token second = exchange.start_all_reduce(y.rows(), {1024, layout.columns()});
    exchange.finish_all_reduce(second);
    exchange.finish_all_reduce(first);
    exchange.finish_mix(mix, out.rows());
    for (const arena::Rows rows : {out.rows(), y.rows()}) {
        CHECK(against_dense(graph, layout, rows, 1e-14) == "");
        for (int64_t i = 1; i < rows.count; ++i) {
            CHECK(std::memcmp(rows.at(0, 0), rows.at(i, 0),
                              static_cast<size_t>(layout.columns() * 8)) == 0);
        }
    }
}

TEST_CASE("Moments over MPI give the bits of one process") {
    World world{launch()};
    World alone{comm::alone()};
    const arena::Layout layout = awkward_layout();
    for (int n = world.size(); n <= 9; ++n) {
        for (const arena::DType type : kMixingMpiTypes) {
            const MomentsSeen expected = moments_of(alone, n, layout, type);
            CHECK(check_moments(world, n, layout, type, expected) == "");
        }
    }
}

TEST_CASE("Long messages travel in pieces") {
    const Membership member = join_mpi(1000);  // as if an MPI count were at most 1000
    const int me = member.rank, size = member.size;
    const int next = (me + 1) % size, last = (me + size - 1) % size;
    if (size == 1) return;
    for (const int64_t bytes : {0, 1, 999, 1000, 1001, 54321}) {
        // Two messages at a time: their pieces must not be mixed up.
        std::vector<std::string> out, in(2, std::string(static_cast<size_t>(bytes), '?'));
        for (int k = 0; k < 2; ++k) {
            out.emplace_back(static_cast<size_t>(bytes), static_cast<char>('a' + 2 * me + k));
        }
        std::vector<Message> sent, received;
        for (int k = 0; k < 2; ++k) {
            sent.push_back({next, 5, out[k].data(), bytes});
            received.push_back({last, 5, in[k].data(), bytes});
        }
        const auto transfer = member.rows->start(sent, received);
        while (!transfer->test()) std::this_thread::yield();
        for (int k = 0; k < 2; ++k) {
            CHECK(in[k] ==
                  std::string(static_cast<size_t>(bytes), static_cast<char>('a' + 2 * last + k)));
        }
    }
}

}  // namespace dbench::comm::tests
