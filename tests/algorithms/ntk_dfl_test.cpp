// Test of the linearisations that ntk_dfl requests, and of its choice of a candidate.

#include <algorithm>
#include <set>

#include "algorithms/stepper_run.hpp"
#include "catch.hpp"
#include "comm/transport/launcher.hpp"

using namespace dbench;
using namespace dbench::algorithms;
using namespace dbench::algorithms::tests;
using base::Json;

TEST_CASE("ntk_dfl uses the candidate of least loss over its own and its neighbours' samples") {
    comm::World world{comm::alone()};
    const Json spec = resolve_algorithm({{"type", "ntk_dfl"}, {"steps", 12}, {"candidates", 4}});
    Run run(world, *base::find_entry(algorithm_table(), "ntk_dfl"), spec,
            resolve_optimizer("sgd", "/optimizer"), nullptr, {1, 1, false});
    run.stepper->attach(run.table, run.g.rows());
    for (int64_t i = 0; i < kReplicas; ++i) {  // Neighbours differ.
        run.x.row<float>(i)[0] = static_cast<float>(100 * i);
    }
    // f = w_0 with a negligible slope, so that w_u = wb + lr u in the first parameter. The losses
    // of all replicas but one are least at the third candidate.
    std::set<std::pair<float, int64_t>> asked;
    const auto of = [](const char* weights) { return *reinterpret_cast<const float*>(weights); };
    std::vector<float> wb(kReplicas);
    run.stepper->set_linearisation(
        {[&](const char* weights, int64_t i, int64_t t, const Linearised& out) {
             CHECK(t == 7);
             asked.insert({of(weights), i});
             if (weights == run.x.at(i, 0)) wb[i] = of(weights);
             std::fill_n(out.jacobian<float>(0, 0), kParameters, 0.0f);
             out.jacobian<float>(0, 0)[0] = 1e-3f;
             out.f<float>()[0] = 0;
             out.y<float>()[0] = 1e3f;
         },
         [&](const char* weights, int64_t i, int64_t) {
             const double base = *std::min_element(wb.begin(), wb.end(), [&](float a, float b) {
                 return std::abs(of(weights) - a - 0.6) < std::abs(of(weights) - b - 0.6);
             });
             const double moved = of(weights) - base;  // 0.3, 0.6, 0.9, 1.2
             return i == 0 ? 0.1 * moved : std::abs(moved - 0.9);
         }});
    SilentObserver silent;
    IterationRecord record;
    run.stepper->step(
        7, 0.1, [&](const auto& ready) { ready(run.layout.all()); }, record, silent);
    for (int64_t i = 0; i < kReplicas; ++i) {
        for (const int64_t j : {(i + kReplicas - 1) % kReplicas, i, (i + 1) % kReplicas}) {
            CHECK(asked.count({wb[i], j}) == 1);
        }
        CHECK(run.x.row<float>(i)[0] - wb[i] == Catch::Approx(0.9).epsilon(1e-3));
    }
    CHECK(asked.size() == 3 * kReplicas);
    CHECK(record.averagings == 1);
    CHECK(record.messages == 5 * 2 * kReplicas);
    const double row = 4.0 * kParameters;
    CHECK(record.bytes_sent == 2 * kReplicas * (2 * row + row + 8 + 4 * (row + 8)));
}
