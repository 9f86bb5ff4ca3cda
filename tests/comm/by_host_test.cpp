// Means by host: threads that share memory play the ranks of several hosts.

#include <string>
#include <vector>

#include "catch.hpp"
#include "comm/counting_transports.hpp"
#include "comm/mixing_checks.hpp"

namespace dbench::comm::tests {
namespace {

/// Returns a Dress that puts each rank on the host that `hosts` names.
Dress on_hosts(const std::vector<std::string>& hosts) {
    return [hosts](Membership& member) { member.host = hosts[static_cast<size_t>(member.rank)]; };
}

/// Replaces every row by the mean, `times` times over, in memory that the ranks of a host share;
/// returns the rows.
arena::Buffer reduced(World& world, int n, const arena::Layout& layout, arena::DType type,
                      Reduction reduction, int times = 1) {
    const Placement placement{n, world.size()};
    Exchange exchange(world, placement, layout, nullptr, reduction);
    const arena::Buffer start =
        replicas(layout, type, placement.begin(world.rank()), placement.count(world.rank()));
    arena::Buffer x = peer_readable(exchange, start.rows());
    std::vector<Token> tokens;
    for (int time = 0; time < times; ++time) {
        for (const Token& token : tokens) exchange.reclaim(token);
        tokens.clear();
        arena::copy(start.rows(), x.rows(), layout.all());
        for (const arena::Columns columns : cuts(layout)) {
            tokens.push_back(
                exchange.start_all_reduce(x.rows(), columns, RowLifetime::until_reclaimed));
        }
        for (const Token& token : tokens) exchange.finish_all_reduce(token);
    }
    for (const Token& token : tokens) exchange.reclaim(token);
    arena::Buffer out(type, start.rows().first, start.rows().count, layout.columns());
    arena::copy(x.rows(), out.rows(), layout.all());
    return out;
}

}  // namespace

TEST_CASE("Hosts that are nodes of the fixed tree give its bits") {
    const arena::Layout layout = awkward_layout();
    const arena::DType type = arena::DType::float32;
    struct Hosts {
        std::vector<std::string> names;
        int replicas;
    };
    for (const Hosts& each : std::vector<Hosts>{{{"a", "a", "b", "b"}, 4},
                                                {{"a", "a", "b", "b"}, 8},
                                                {{"a", "a", "a", "b", "b", "b"}, 6},
                                                {{"a", "a", "b", "b", "c", "c", "d", "d"}, 8},
                                                // These are not, and take another route.
                                                {{"a", "a", "b", "b"}, 7},
                                                {{"a", "b", "a", "b"}, 4},
                                                {{"a", "a", "b", "b", "c", "c"}, 6},
                                                {{"a", "a", "b"}, 3}}) {
        const int n = each.replicas;
        const arena::Buffer expected = mixed_alone(complete(n), layout, type);
        const auto part = [&](World& world) {
            return check_all_reduce(world, n, layout, type, expected) +
                   check_mixing(world, complete(n), layout, type, expected);
        };
        const auto problems = play(static_cast<int>(each.names.size()), part, on_hosts(each.names));
        for (const std::string& problem : problems) CHECK(problem == "");
    }
}

TEST_CASE("A library's sum by host is the mean, again with the same bits") {
    const arena::Layout layout = awkward_layout();
    const arena::DType type = arena::DType::float64;
    for (const std::vector<std::string>& names :
         std::vector<std::vector<std::string>>{{"a", "a", "a"},
                                               {"a", "a", "b", "b"},
                                               {"a", "b", "a", "b"},
                                               {"a", "a", "b", "b", "b"},
                                               {"a", "a", "b", "b", "c", "c"}}) {
        const auto ranks = static_cast<int>(names.size());
        for (const int n : {ranks, ranks + 2}) {
            const DenseSchedule graph = complete(n);
            std::vector<std::string> bits(names.size());
            const auto part = [&](World& world) {
                const arena::Buffer once = reduced(world, n, layout, type, Reduction::library);
                const arena::Buffer thrice = reduced(world, n, layout, type, Reduction::library, 3);
                const arena::Rows rows = once.rows();
                for (int64_t i = 0; i < rows.count; ++i) {
                    const auto row_bytes = static_cast<size_t>(layout.columns() * 8);
                    if (std::memcmp(rows.at(i, 0), rows.at(0, 0), row_bytes) != 0 ||
                        std::memcmp(thrice.rows().at(i, 0), rows.at(0, 0), row_bytes) != 0) {
                        return std::string("rows differ");
                    }
                }
                bits[static_cast<size_t>(world.rank())].assign(
                    rows.at(0, 0), static_cast<size_t>(layout.columns() * 8));
                return against_dense(graph, layout, rows, 1e-14);
            };
            for (const std::string& problem : play(ranks, part, on_hosts(names))) {
                CHECK(problem == "");
            }
            for (const std::string& row : bits) CHECK(row == bits[0]);
        }
    }
}

TEST_CASE("A host sends each column of its sum once to another host and back") {
    const arena::Layout layout = awkward_layout();
    for (const Reduction reduction : {Reduction::reproducible, Reduction::library}) {
        Traffic rows;
        const std::vector<std::string> names{"a", "a", "b", "b"};
        const auto dress = [&](Membership& member) {
            on_hosts(names)(member);
            member.rows = std::make_unique<CountingRows>(std::move(member.rows), rows);
        };
        const auto part = [&](World& world) {
            reduced(world, 4, layout, arena::DType::float32, reduction);
            return std::string();
        };
        for (const std::string& problem : play(4, part, dress)) CHECK(problem == "");
        CHECK(rows.bytes == 2 * layout.columns() * 4);  // one row per host
    }
}

}  // namespace dbench::comm::tests
