#include <malloc.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "algorithms/step/stepper.hpp"
#include "catch.hpp"
#include "comm/launcher.hpp"

using namespace dbench;
using namespace dbench::algorithms;
using base::Json;

namespace {

constexpr int64_t kReplicas = 8, kParameters = 1 << 16;

class Silent final : public Observer {
public:
    void iteration(const IterationRecord&) override {}
    void evaluation(const EvaluationRecord&) override {}
    void event(int64_t, const std::string&, const std::string&) override {}
};

arena::Layout one_tensor() {
    arena::Layout layout;
    layout.add("w", {kParameters}, arena::TensorKind::weight);
    return layout;
}

/// Eight replicas on a graph that suits the algorithm, in one process.
struct Run {
    comm::World world{comm::alone()};
    comm::Placement placement{kReplicas, 1};
    arena::Layout layout = one_tensor();
    arena::StateTable table{arena::DType::float32, 0, kReplicas, layout.columns()};
    arena::Rows x = table.declare_parameters();
    arena::Buffer g = table.scratch();
    std::unique_ptr<Stepper> stepper;

    Run(const AlgorithmEntry& row, const Json& algorithm, const Json& optimizer) {
        const graphs::RunFacts run{100, 10, kReplicas, 4.0 * kParameters};
        std::shared_ptr<graphs::Schedule> graph;
        if (row.accepts.graph != GraphNeed::none) {
            const Json spec = row.accepts.graph == GraphNeed::tree
                                  ? Json("path")
                                  : Json{{"type", "ring"}, {"lazy", 0.5}};
            graph = graphs::make_graph(spec, {kReplicas, 1, run});
        }
        stepper = std::make_unique<Stepper>(world, placement, layout,
                                            StepSpec{row, algorithm, optimizer, run, 0.1},
                                            RunSchedule(graph, row, algorithm, run));
    }
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCounted = false;  // sanitizers have a malloc of their own
#else
constexpr bool kCounted = true;
#endif

/// Bytes that the process has from malloc.
double allocated() {
    const auto info = mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
}

std::vector<Json> forms_of(const AlgorithmEntry& row) {
    std::vector<Json> forms = {row.name};
    if (row.name == "d2") forms.push_back({{"type", "d2"}, {"form", "relay"}});
    if (row.name == "dsgd") forms.push_back({{"type", "dsgd"}, {"order", "combine_while_adapt"}});
    if (row.name == "gradient_tracking") {
        forms.push_back({{"type", "gradient_tracking"}, {"form", "diging"}});
    }
    return forms;
}

}  // namespace

TEST_CASE("what a step's state will take is known before it is there") {
    for (const AlgorithmEntry& row : algorithm_table()) {
        for (const Json& form : forms_of(row)) {
            const char* momentum = row.accepts.optimizer == OptimizerNeed::any ? "adam" : "sgd";
            Run run(row, resolve_algorithm(form), resolve_optimizer(momentum, "/optimizer"));
            INFO(form.dump());
            const double before = allocated();
            const int64_t foretold = run.stepper->state_elements();
            CHECK(allocated() - before < 1e5);  // nothing was allocated for that
            run.stepper->attach(run.table, run.g.rows());
            const double bytes = 4.0 * static_cast<double>(kReplicas * foretold);
            // Large buffers begin with some skipped pages.
            if (kCounted) CHECK(allocated() - before == Approx(bytes).epsilon(0.35).margin(1e5));
            CHECK(run.table.elements_per_replica() == foretold + 2 * run.layout.columns());
        }
    }
}

TEST_CASE("a step tells what it sent, and where its time went") {
    const auto& row = *base::find_entry(algorithm_table(), "dsgd");
    Run run(row, resolve_algorithm("dsgd"), resolve_optimizer("sgd", "/optimizer"));
    run.stepper->attach(run.table, run.g.rows());
    Silent silent;
    IterationRecord record;
    run.stepper->step(
        3, 0.25, [&](const auto& ready) { ready(run.layout.all()); }, record, silent);
    CHECK(record.iteration == 3);
    CHECK(record.lr == 0.25);
    CHECK(record.rounds == 1);
    CHECK(record.degree == 2);
    CHECK(record.messages == 2 * kReplicas);
    CHECK(record.bytes_sent == 2.0 * kReplicas * kParameters * 4);
    double parts = 0;
    for (const TimeColumn& column : kTimeColumns) {
        CHECK(record.times[column.time] >= 0);
        if (column.time != Time::step && column.time != Time::profile) {
            parts += record.times[column.time];
        }
    }
    CHECK(record.times[Time::step] >= parts);
    CHECK(record.times[Time::exchange] > 0);
}
