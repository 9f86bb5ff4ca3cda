// A session holds its own copy of the spec.

#include "train/run/session.hpp"

#include "catch.hpp"
#include "train/device_runs.hpp"

namespace dbench::train::tests {

TEST_CASE("A session does not read the spec that its caller passed after the constructor") {
    const Resolved r =
        resolve({{"model", "mlp"},
                 {"data", {{"type", "shapes"}, {"train", 48}, {"test", 12}, {"batch_size", 4}}},
                 {"algorithm", "dsgd"},
                 {"graph", "ring"},
                 {"optimizer", {{"type", "sgd"}, {"lr", 0.1}}},
                 {"replicas", 2},
                 {"length", {{"iterations", 2}}}});
    comm::World world{comm::alone()};
    const comm::Placement placement{2, 1};
    SessionOptions options{r.run, std::make_shared<const Json>(r.spec),
                           std::make_shared<const Json>(r.algorithm), nullptr};
    options.graph = [&](const graphs::RunFacts& run) {
        return graphs::make_graph(r.graph, {2, r.run.seed.graph, run}, "/graph");
    };
    const Session session(world, placement, options);
    const arena::DType type = session.type();
    options.run = RunSpec{};
    options.run.precision =
        type == arena::DType::float32 ? arena::DType::float64 : arena::DType::float32;
    CHECK(session.type() == type);
}

}  // namespace dbench::train::tests
