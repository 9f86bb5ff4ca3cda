#include "conform/trainee.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "algorithms/step/stepper.hpp"
#include "base/error.hpp"
#include "graphs/schedules/staged.hpp"

namespace dbench::conform {
namespace {

using base::Json;
using Eigen::MatrixXd;

arena::Layout layout_of(int64_t parameters) {
    arena::Layout layout;
    layout.add("weight", {parameters - 3}, arena::TensorKind::weight);
    layout.add("bias", {3}, arena::TensorKind::bias);
    return layout;
}

class Silent final : public algorithms::Observer {
public:
    void iteration(const algorithms::IterationRecord&) override {}
    void evaluation(const algorithms::EvaluationRecord&) override {}
    void event(int64_t, const std::string&, const std::string&) override {}
};

}  // namespace

struct Trainee::Impl {
    comm::World& world;
    const Problem& problem;
    Training training;
    comm::Placement placement;
    arena::Layout layout;
    arena::StateTable table;
    arena::Rows x;
    arena::Buffer gradient;
    arena::Buffer drawn;  // the gradients of the last iteration: algorithms write into theirs
    std::unique_ptr<algorithms::Stepper> stepper;
    Silent observer;
    int64_t t = 0;

    Impl(comm::World& w, const Problem& p, const Training& how,
         const algorithms::AlgorithmEntry& row)
        : world(w),
          problem(p),
          training(how),
          placement{how.replicas, w.size()},
          layout(layout_of(p.parameters())),
          table(arena::DType::float64, placement.begin(w.rank()), placement.count(w.rank()),
                layout.columns()),
          x(table.rows("parameters")),
          gradient(table.scratch()),
          drawn(table.scratch()) {
        const graphs::RunFacts run{how.iterations, how.per_epoch, how.replicas,
                                   8.0 * static_cast<double>(layout.numel())};
        std::shared_ptr<graphs::Schedule> graph;
        if (row.accepts.graph != algorithms::GraphNeed::none) {
            graph = graphs::make_graph(how.graph, {static_cast<int>(how.replicas), how.seed, run},
                                       "graph");
        }
        double lr_max = 0;
        for (int64_t k = 0; k < how.iterations; ++k) lr_max = std::max(lr_max, how.lr(k));
        algorithms::StepSpec spec{row, how.algorithm, how.optimizer, run, lr_max};
        spec.type = arena::DType::float64;
        stepper = std::make_unique<algorithms::Stepper>(
            world, placement, layout, spec,
            algorithms::RunSchedule(std::move(graph), row, how.algorithm, run));
        stepper->attach(table, x, gradient.rows());
    }

    // Column p of the problem is column place(p) of a row.
    int64_t place(int64_t p) const {
        const arena::Tensor& weight = layout.tensors()[0];
        const arena::Tensor& bias = layout.tensors()[1];
        return p < weight.numel ? weight.offset + p : bias.offset + p - weight.numel;
    }

    Eigen::VectorXd read(const arena::Rows& rows, int64_t local) const {
        Eigen::VectorXd out(problem.parameters());
        for (int64_t p = 0; p < out.size(); ++p) out[p] = rows.row<double>(local)[place(p)];
        return out;
    }

    MatrixXd gather(const arena::Rows& rows) {
        std::string mine;
        for (int64_t i = 0; i < rows.count; ++i) {
            const Eigen::VectorXd row = read(rows, i);
            mine.append(reinterpret_cast<const char*>(row.data()),
                        static_cast<size_t>(row.size()) * sizeof(double));
        }
        std::string all;
        for (const std::string& part : world.all_gather(mine)) all += part;
        MatrixXd out(training.replicas, problem.parameters());
        const size_t row_bytes = static_cast<size_t>(out.cols()) * sizeof(double);
        for (int64_t i = 0; i < out.rows(); ++i) {
            Eigen::VectorXd row(out.cols());
            std::memcpy(row.data(), all.data() + static_cast<size_t>(i) * row_bytes, row_bytes);
            out.row(i) = row;
        }
        return out;
    }

    void fill_gradients() {
        for (int64_t i = 0; i < x.count; ++i) {
            const int64_t replica = x.first + i;
            Eigen::VectorXd g = problem.gradient(replica, read(x, i));
            if (training.noise > 0) {
                g += training.noise * gradient_noise(t, replica, g.size(), training.seed);
            }
            for (int64_t p = 0; p < g.size(); ++p) {
                gradient.rows().row<double>(i)[place(p)] = g[p];
            }
        }
        arena::copy(gradient.rows(), drawn.rows(), layout.all());
    }

    void step() {
        algorithms::IterationRecord record;
        const auto gradients = [&](const auto& ready) {
            fill_gradients();
            const int64_t bias =
                layout.tensors()[1].offset;  // last tensors first, as backward does
            ready({bias, layout.columns()});
            ready({0, bias});
        };
        stepper->step(t, training.lr(t), gradients, record, observer);
        ++t;
    }
};

Trainee::Trainee(comm::World& world, const Problem& problem, const Training& training,
                 const algorithms::AlgorithmEntry& row)
    : impl_(std::make_unique<Impl>(world, problem, training, row)) {}
Trainee::~Trainee() = default;

void Trainee::step() { impl_->step(); }
MatrixXd Trainee::parameters() { return impl_->gather(impl_->x); }
MatrixXd Trainee::last_gradients() { return impl_->gather(impl_->drawn.rows()); }

MatrixXd Trainee::state(const std::string& name) {
    for (const auto& entry : impl_->table.entries()) {
        if (entry.name == name) return impl_->gather(entry.buffer.rows());
    }
    return {};
}

std::vector<std::string> Trainee::save() const {
    std::vector<std::string> out;
    for (const auto& entry : impl_->table.entries()) {
        const void* data = entry.data ? entry.data : entry.buffer.rows().data;
        out.emplace_back(static_cast<const char*>(data), entry.size);
    }
    out.push_back(impl_->stepper->staged() ? impl_->stepper->staged()->save() : "");
    return out;
}

void Trainee::restore(const std::vector<std::string>& saved, int64_t t) {
    size_t k = 0;
    for (const auto& entry : impl_->table.entries()) {
        void* data = entry.data ? entry.data : entry.buffer.rows().data;
        std::memcpy(data, saved.at(k).data(), entry.size);
        ++k;
    }
    if (auto* staged = impl_->stepper->staged()) staged->restore(saved.at(k));
    impl_->t = t;
}

MatrixXd dense(const graphs::Schedule& schedule, int64_t k) {
    const int n = schedule.size();
    const graphs::Round round = schedule.at(k);
    MatrixXd w = MatrixXd::Zero(n, n);
    for (int i = 0; i < n; ++i) {
        for (const graphs::Link& link : schedule.in(round, i)) w(i, link.peer) = link.weight;
    }
    return w;
}

}  // namespace dbench::conform
