// Algorithms that build their own messages, on replicas whose gradients are 0.

#include <Eigen/SVD>
#include <cmath>
#include <nlohmann/json.hpp>

#include "algorithms/stepper_run.hpp"
#include "base/random.hpp"
#include "catch.hpp"
#include "comm/transport/launcher.hpp"

namespace {

using namespace dbench;
using namespace dbench::algorithms;
using algorithms::tests::SilentObserver;
using base::Json;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Runs an algorithm on float64 replicas in one process.
class Gossip {
public:
    Gossip(const Json& algorithm, const Json& graph, arena::Layout layout, int64_t replicas)
        : placement_{replicas, 1},
          layout_(std::move(layout)),
          table_(arena::DType::float64, 0, replicas, layout_.columns()) {
        const Json resolved = resolve_algorithm(algorithm);
        const auto& row =
            *base::find_entry(algorithm_table(), resolved.at("type").get<std::string>());
        const graphs::RunFacts run{100, 10, replicas};
        const Json optimizer = resolve_optimizer("sgd", "/optimizer");
        StepSpec spec{row, resolved, optimizer, run, 0.1};
        spec.type = arena::DType::float64;
        table_.declare_parameters();
        g_ = table_.scratch();
        stepper_ = std::make_unique<Stepper>(
            world_, placement_, layout_, spec,
            RunSchedule(graphs::make_graph(graph, {static_cast<int>(replicas), 1, run}), row,
                        resolved, run));
        stepper_->attach(table_, g_.rows());
    }

    void step() {
        IterationRecord record;
        stepper_->step(
            t_++, 0.1, [&](const auto& ready) { ready(layout_.all()); }, record, observer_);
    }
    /// Returns the parameters of a tensor, one row per replica.
    Eigen::Map<Rows, 0, Eigen::OuterStride<>> x(size_t tensor) {
        const arena::Rows rows = table_.parameters();
        const arena::Tensor& place = layout_.tensors()[tensor];
        return {rows.row<double>(0) + place.offset, rows.count, place.numel,
                Eigen::OuterStride<>(rows.stride)};
    }
    Eigen::Map<Eigen::RowVectorXd> state(const std::string& name, int64_t replica, int64_t count) {
        for (const auto& entry : table_.entries()) {
            if (entry.name == name) return {entry.buffer.rows().row<double>(replica), count};
        }
        throw std::logic_error(name);
    }
    std::string remark() { return stepper_->algorithm().remark(world_); }

private:
    comm::World world_{comm::alone()};
    comm::Placement placement_;
    arena::Layout layout_;
    arena::StateTable table_;
    arena::Buffer g_;
    std::unique_ptr<Stepper> stepper_;
    SilentObserver observer_;
    int64_t t_ = 0;
};

constexpr int64_t kLong = 2 * arena::kBlock + 77;  // more than one chunk

arena::Layout one_long() {
    arena::Layout layout;
    layout.add("w", {kLong}, arena::TensorKind::weight);
    layout.add("b", {5}, arena::TensorKind::bias);
    return layout;
}

Rows normals(int64_t rows, int64_t columns) {
    base::Random random(3, base::Purpose::regression);
    return Rows::NullaryExpr(rows, columns, [&] { return random.normal(); });
}

double spread(const Rows& x) { return (x.rowwise() - x.colwise().mean()).cwiseAbs().maxCoeff(); }

}  // namespace

TEST_CASE("moniqua keeps the mean and brings replicas together if neighbours are close") {
    for (const int bits : {2, 4, 9}) {
        INFO(bits << " bits");
        Gossip gossip({{"type", "moniqua"}, {"bits", bits}, {"theta", 0.5}, {"gamma", 0.1}}, "ring",
                      one_long(), 6);
        auto x = gossip.x(0);
        // Add a large value that all replicas share; replicas differ by less than theta.
        x = (normals(6, kLong).array() / 20).cwiseMax(-0.2).cwiseMin(0.2);
        x.rowwise() += 100 * normals(1, kLong).row(0);
        const Rows before = x;
        for (int t = 0; t < 60; ++t) gossip.step();
        CHECK((x.colwise().mean() - before.colwise().mean()).cwiseAbs().maxCoeff() < 1e-11);
        CHECK(spread(x) < (bits == 2 ? 1 : 0.3) * spread(before));
        CHECK(gossip.remark().empty());
    }
}

TEST_CASE("moniqua does not change equal replicas") {
    Gossip gossip({{"type", "moniqua"}}, "ring", one_long(), 5);
    auto x = gossip.x(0);
    x.rowwise() = normals(1, kLong).row(0);
    const Rows before = x;
    for (int t = 0; t < 10; ++t) gossip.step();
    CHECK((x - before).cwiseAbs().maxCoeff() < 1e-14);
}

TEST_CASE("moniqua counts the differences that are known to be too large") {
    const double theta = 0.5, modulus = 2 * theta / (1 - 2.0 / 15);
    const Json algorithm{{"type", "moniqua"}, {"theta", theta}, {"gamma", 1e-9}};
    const auto counted = [&](double difference) {
        Gossip gossip(algorithm, "ring", one_long(), 6);
        gossip.x(0).rowwise() = normals(1, kLong).row(0);
        gossip.x(0).row(2).array() += difference;
        gossip.step();
        double count = 0;
        for (int64_t i = 0; i < 6; ++i) count += gossip.state("algorithm/too_far", i, 1)[0];
        CHECK((gossip.remark().find("/algorithm/theta") != std::string::npos) == (count > 0));
        return count / (4 * kLong);  // two links, received at both ends
    };
    CHECK(counted(0.999 * theta) == 0);
    CHECK(counted(modulus / 2) == 1);
    CHECK(counted(modulus) == 0);
    const double some = counted((theta + modulus / 2) / 2);
    CHECK(some > 0.4);
    CHECK(some < 0.6);
}

namespace {

arena::Layout matrix_and_bias() {
    arena::Layout layout;
    layout.add("w", {6, 5, 2}, arena::TensorKind::weight);
    layout.add("b", {3}, arena::TensorKind::bias);
    return layout;
}

/// Returns the difference of two replicas as a matrix with one row per first index.
Rows difference(Gossip& gossip) {
    return (gossip.x(0).row(0) - gossip.x(0).row(1)).reshaped<Eigen::RowMajor>(6, 10);
}

}  // namespace

TEST_CASE("powergossip finds the largest singular vectors of a constant difference") {
    Gossip gossip("powergossip", "complete", matrix_and_bias(), 2);
    const Rows parameters = normals(2, 60);
    gossip.x(0) = parameters;
    const Eigen::JacobiSVD<Eigen::MatrixXd> svd(difference(gossip),
                                                Eigen::ComputeThinU | Eigen::ComputeThinV);
    for (int t = 0; t < 400; ++t) {
        gossip.x(0) = parameters;
        gossip.step();
    }
    const Eigen::MatrixXd best =
        svd.singularValues()[0] * svd.matrixU().col(0) * svd.matrixV().col(0).transpose();
    for (const int64_t replica : {0, 1}) {  // both ends have the same vectors
        const Eigen::MatrixXd found = gossip.state("algorithm/p", replica, 6).transpose() *
                                      gossip.state("algorithm/q", replica, 10);
        CHECK((found - best).cwiseAbs().maxCoeff() < 1e-10);
    }
}

TEST_CASE("powergossip removes a difference of rank 1 in two exchanges") {
    Gossip gossip("powergossip", "complete", matrix_and_bias(), 2);
    const Rows common = normals(1, 60);
    gossip.x(0).rowwise() = common.row(0);
    gossip.x(0).row(1) += (normals(6, 1) * normals(1, 10)).reshaped<Eigen::RowMajor>().transpose();
    gossip.x(1) << 1, 2, 3, 4, 5, 6;
    const Rows mean = gossip.x(0).colwise().mean();
    gossip.step();  // iteration 0 exchanges nothing
    CHECK(gossip.x(1)(0, 0) == 1);
    CHECK(difference(gossip).norm() > 1);
    gossip.step();
    CHECK(gossip.x(1)(0, 0) == Approx(2.5));
    CHECK(difference(gossip).norm() > 1e-3);
    gossip.step();
    CHECK(difference(gossip).norm() < 1e-12);
    CHECK((gossip.x(0).colwise().mean() - mean.row(0)).cwiseAbs().maxCoeff() < 1e-14);
    gossip.step();  // vectors of zeros are redrawn
    gossip.x(0).row(1) += (normals(6, 1) * normals(1, 10)).reshaped<Eigen::RowMajor>().transpose();
    for (int t = 0; t < 3; ++t) gossip.step();
    CHECK(difference(gossip).norm() < 1e-12);
}

TEST_CASE("powergossip keeps the mean and brings replicas together on any undirected graph") {
    for (const char* graph : {"ring", "star", "torus", "complete"}) {
        INFO(graph);
        Gossip gossip("powergossip", graph, matrix_and_bias(), 12);
        gossip.x(0) = normals(12, 60);
        const Rows before = gossip.x(0);
        for (int t = 0; t < 300; ++t) gossip.step();
        const Rows after = gossip.x(0);
        CHECK((after.colwise().mean() - before.colwise().mean()).cwiseAbs().maxCoeff() < 1e-13);
        CHECK(spread(after) < 0.5 * spread(before));
    }
}
