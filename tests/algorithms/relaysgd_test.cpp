// RelaySGD on double binary trees: each half of the parameters is relayed along its own tree.

#include "algorithms/stepper_run.hpp"
#include "catch.hpp"
#include "comm/ranks.hpp"

using namespace dbench;
using namespace dbench::algorithms;
using namespace dbench::algorithms::tests;
using base::Json;

namespace {

constexpr int64_t kHalf = kParameters / 2;

double start(int64_t replica, int64_t column) {
    return static_cast<double>((replica + 1) * (column % 97 + 1));
}

/// Returns x_i after the first iteration with gradients 0: its neighbours' x have arrived, and its
/// own stand for all others.
double expected(const graphs::Schedule& tree, graphs::Round round, int i, int64_t column) {
    double sum = 0;
    for (const graphs::Link& link : tree.in(round, i)) {
        if (link.peer != i) sum += start(link.peer, column) - start(i, column);
    }
    return start(i, column) + sum / kReplicas;
}

std::string run_one_iteration(comm::World& world, const std::string& order) {
    const Json spec{{"type", "double_binary_tree"}, {"order", order}};
    const std::shared_ptr<graphs::Schedule> trees = graphs::make_graph(spec, {kReplicas, 1});
    const auto& row = *base::find_entry(algorithm_table(), "relaysgd");
    Run run(world, row, resolve_algorithm("relaysgd"), resolve_optimizer("sgd", "/optimizer"),
            trees);
    run.stepper->attach(run.table, run.g.rows());
    const arena::Rows x = run.table.parameters(), g = run.g.rows();
    for (int64_t i = 0; i < x.count; ++i) {
        auto* row_x = reinterpret_cast<float*>(x.at(i, 0));
        auto* row_g = reinterpret_cast<float*>(g.at(i, 0));
        for (int64_t c = 0; c < kParameters; ++c) {
            row_x[c] = static_cast<float>(start(x.first + i, c));
            row_g[c] = 0;
        }
    }
    SilentObserver silent;
    IterationRecord record;
    // The first bucket contains the end of the first half and the whole second one.
    const auto gradients = [&](const auto& ready) {
        ready(arena::Columns{kHalf - arena::kBlock, run.layout.columns()});
        ready(arena::Columns{0, kHalf - arena::kBlock});
    };
    run.stepper->step(0, 0.1, gradients, record, silent);
    if (record.bytes_sent != 2.0 * (kReplicas - 1) * kParameters * 4) return "bytes_sent";
    if (record.messages != 4 * (kReplicas - 1)) return "messages";
    const arena::Rows after = run.table.parameters();
    for (int64_t i = 0; i < after.count; ++i) {
        const auto replica = static_cast<int>(after.first + i);
        const auto* row_x = reinterpret_cast<const float*>(after.at(i, 0));
        for (int64_t c = 0; c < kParameters; ++c) {
            const double wanted = expected(*trees, trees->at(c < kHalf ? 0 : 1), replica, c);
            if (row_x[c] == Approx(wanted)) continue;
            return "replica " + std::to_string(replica) + ", column " + std::to_string(c) + ": " +
                   std::to_string(row_x[c]) + " instead of " + std::to_string(wanted);
        }
    }
    return "";
}

}  // namespace

TEST_CASE("relaysgd relays each half of the parameters along one of double binary trees") {
    for (const char* order : {"in_order", "heap"}) {
        for (const int ranks : {1, 2}) {
            INFO(order << ", " << ranks << " ranks");
            const auto part = [&](comm::World& world) { return run_one_iteration(world, order); };
            for (const std::string& problem : comm::tests::play(ranks, part)) CHECK(problem == "");
        }
    }
}
