#include "conform/production_run.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "algorithms/codecs/codec.hpp"
#include "algorithms/step/stepper.hpp"
#include "base/error.hpp"
#include "base/framing.hpp"
#include "graphs/schedules/staged.hpp"

namespace dbench::conform {
namespace {

using base::Json;
using Eigen::MatrixXd;

/// A schedule in which replica i has the place of replica relabelling[i] in another schedule.
class Relabelled final : public graphs::Schedule {
public:
    Relabelled(std::shared_ptr<const graphs::Schedule> graph, std::vector<int64_t> relabelling)
        : graph_(std::move(graph)), relabelling_(std::move(relabelling)), at_(relabelling_.size()) {
        for (size_t i = 0; i < relabelling_.size(); ++i) at_[relabelling_[i]] = static_cast<int>(i);
    }
    int size() const override { return graph_->size(); }
    graphs::Round at(int64_t t) const override { return graph_->at(t); }
    std::vector<graphs::Link> in(graphs::Round round, int i) const override {
        return renamed(graph_->in(round, static_cast<int>(relabelling_[i])));
    }
    std::vector<graphs::Link> out(graphs::Round round, int i) const override {
        return renamed(graph_->out(round, static_cast<int>(relabelling_[i])));
    }
    std::vector<std::vector<int>> groups(graphs::Round round) const override {
        auto groups = graph_->groups(round);
        for (auto& group : groups) {
            for (int& member : group) member = at_[member];
            std::sort(group.begin(), group.end());
        }
        std::sort(groups.begin(), groups.end());
        return groups;
    }
    int64_t period() const override { return graph_->period(); }

private:
    std::vector<graphs::Link> renamed(std::vector<graphs::Link> links) const {
        for (graphs::Link& link : links) link.peer = at_[link.peer];
        std::sort(links.begin(), links.end(),
                  [](const graphs::Link& a, const graphs::Link& b) { return a.peer < b.peer; });
        return links;
    }

    std::shared_ptr<const graphs::Schedule> graph_;
    std::vector<int64_t> relabelling_;
    std::vector<int> at_;
};

class Silent final : public algorithms::Observer {
public:
    void iteration(const algorithms::IterationRecord&) override {}
    void evaluation(const algorithms::EvaluationRecord&) override {}
    void event(int64_t, const std::string&, const std::string&) override {}
};

}  // namespace

arena::Layout layout_of(int64_t parameters) {
    arena::Layout layout;
    const int64_t weights = parameters - kBiases, rows = weights % 3 == 0 ? 3 : 1;
    layout.add("weight", {rows, weights / rows}, arena::TensorKind::weight);
    layout.add("bias", {kBiases}, arena::TensorKind::bias);
    return layout;
}

struct ProductionRun::Impl {
    comm::World& world;
    const Problem& problem;
    TrainingSettings training;
    comm::Placement placement;
    arena::Layout layout;
    std::optional<arena::StateTable> table;
    arena::Buffer gradient;
    arena::Buffer drawn;  // gradients of the last iteration; algorithms overwrite `gradient`
    // The stepper is destroyed before the rows above, which it may still be moving.
    std::unique_ptr<algorithms::Stepper> stepper;
    Silent observer;
    algorithms::IterationRecord record;  // of the last iteration, or of the first of its span
    MatrixXd staleness;
    int64_t t = 0;

    Impl(comm::World& w, const Problem& p, const TrainingSettings& how,
         const algorithms::AlgorithmEntry& row)
        : world(w),
          problem(p),
          training(how),
          placement{how.replicas, w.size()},
          layout(layout_of(p.parameters())) {
        const graphs::RunFacts run{how.iterations, how.per_epoch, how.replicas,
                                   static_cast<double>(layout.numel() * arena::size_of(how.type))};
        std::shared_ptr<graphs::Schedule> graph;
        if (row.traits.graph != algorithms::GraphNeed::none) {
            graph = graphs::make_graph(how.graph, {static_cast<int>(how.replicas), how.seed, run},
                                       "graph");
            if (!how.relabelling.empty())
                graph = std::make_shared<Relabelled>(graph, how.relabelling);
        }
        double lr_max = 0;
        for (int64_t k = 0; k < how.iterations; ++k) lr_max = std::max(lr_max, how.lr(k));
        algorithms::StepSpec spec{row, how.algorithm, how.optimizer, run, lr_max};
        spec.type = how.type;
        spec.message = how.codec;
        spec.optimizer_row = how.optimizer_row;
        spec.compression = {algorithms::make_codec(how.message), how.seed};
        const Around samples = p.around(0, Eigen::VectorXd::Zero(p.parameters()));
        spec.minibatch = {samples.f.rows(), samples.f.cols(), samples.classes};
        spec.seed = how.seed;
        if (how.profiled) spec.profile = {base::Cadence(1), base::Cadence(1), false};
        stepper = std::make_unique<algorithms::Stepper>(
            world, placement, layout, spec,
            algorithms::RunSchedule(std::move(graph), row, how.algorithm, run));
        table.emplace(how.type, placement.begin(w.rank()), placement.count(w.rank()),
                      layout.columns(), stepper->exchange().peer_readable_memory(),
                      w.place().memories());
        table->declare_parameters();
        gradient = table->peer_readable_scratch();
        drawn = table->scratch();
        stepper->attach(*table, gradient.rows());
        stepper->set_distillation([this](const arena::Rows& student, const arena::Rows& teacher,
                                         int64_t, double temperature) {
            wait("students and teachers");
            for (int64_t i = 0; i < student.count; ++i) {
                write(gradient.rows(), i,
                      problem.distillation(problem_replica(i), read(student, i), read(teacher, i),
                                           temperature));
            }
        });
        const auto at = [this](const char* weights) {
            return read({const_cast<char*>(weights), training.type, arena::Space::host, 0, 1}, 0);
        };
        stepper->set_linearisation({[this, at](const char* weights, int64_t i, int64_t,
                                               const algorithms::Linearised& out) {
                                        write(out, problem.around(problem_replica(i), at(weights)));
                                    },
                                    [this, at](const char* weights, int64_t i, int64_t) {
                                        return problem.loss(problem_replica(i), at(weights));
                                    }});
        for (int64_t i = 0; i < x().count; ++i) {
            write(x(), i,
                  start_of(how.same_start ? 0 : problem_replica(i), p.parameters(), how.seed));
        }
    }

    arena::Rows x() const { return table->parameters(); }

    // Returns the problem's replica that local replica i represents.
    int64_t problem_replica(int64_t i) const {
        const int64_t replica = x().first + i;
        return training.relabelling.empty() ? replica
                                            : training.relabelling[static_cast<size_t>(replica)];
    }

    // Column p of the problem is column place(p) of a row.
    int64_t place(int64_t p) const {
        const arena::Tensor& weight = layout.tensors()[0];
        const arena::Tensor& bias = layout.tensors()[1];
        return p < weight.numel ? weight.offset + p : bias.offset + p - weight.numel;
    }

    // Waits for launches: the host reads or writes their results next.
    void wait(const char* why = "rows that are compared") const {
        arena::finish(world.place().compute(), why);
    }

    Eigen::VectorXd read(const arena::Rows& rows, int64_t local) const {
        Eigen::VectorXd out(problem.parameters());
        arena::with_type(rows.type, [&]<class T>() {
            for (int64_t p = 0; p < out.size(); ++p) out[p] = rows.row<T>(local)[place(p)];
        });
        return out;
    }

    void write(const arena::Rows& rows, int64_t local, const Eigen::VectorXd& values) const {
        arena::with_type(rows.type, [&]<class T>() {
            for (int64_t p = 0; p < values.size(); ++p) {
                rows.row<T>(local)[place(p)] = static_cast<T>(values[p]);
            }
        });
    }

    // Writes a message. Its parameters are in the layout's order, which is the problem's order.
    static void write(const algorithms::Linearised& out, const Around& from) {
        arena::with_type(out.type, [&]<class T>() {
            for (int64_t s = 0; s < out.samples; ++s) {
                for (int64_t c = 0; c < out.outputs; ++c) {
                    const Eigen::VectorXd row = from.jacobian[c].row(s);
                    std::transform(row.begin(), row.end(), out.jacobian<T>(s, c),
                                   [](double value) { return static_cast<T>(value); });
                    out.f<T>()[s * out.outputs + c] = static_cast<T>(from.f(s, c));
                    out.y<T>()[s * out.outputs + c] = static_cast<T>(from.y(s, c));
                }
            }
        });
    }

    MatrixXd gather(const arena::Rows& rows) {
        wait();
        std::vector<double> mine;
        for (int64_t i = 0; i < rows.count; ++i) {
            const Eigen::VectorXd row = read(rows, i);
            mine.insert(mine.end(), row.begin(), row.end());
        }
        return all(mine).reshaped<Eigen::RowMajor>(training.replicas, problem.parameters());
    }

    /// Gathers a number per replica from all ranks.
    Eigen::VectorXd all(const std::vector<double>& local) {
        const auto values = base::doubles_of(world.all_gather(base::bytes_of(local)));
        return Eigen::Map<const Eigen::VectorXd>(values.data(),
                                                 static_cast<Eigen::Index>(values.size()));
    }

    void fill_gradients() {
        wait("parameters that gradients are taken at");
        for (int64_t i = 0; i < x().count; ++i) fill_gradient(x(), i, t);
    }

    void fill_gradient(const arena::Rows& at, int64_t i, int64_t iteration) {
        Eigen::VectorXd g = problem.gradient(problem_replica(i), read(at, i));
        if (training.noise > 0) {
            g += training.noise *
                 gradient_noise(iteration, problem_replica(i), g.size(), training.seed);
        }
        write(gradient.rows(), i, g);
        arena::copy(gradient.rows().only(i), drawn.rows().only(i), layout.all());
    }

    void advance(const algorithms::Asynchronous& algorithm) {
        const algorithms::ComputeTimes times(algorithm.pace(), training.seed);
        const auto gradient_of = [&](const algorithms::Turn& turn, const arena::Rows& at,
                                     algorithms::IterationRecord&) {
            wait("snapshots that gradients are taken at");
            fill_gradient(at, turn.replica, turn.iteration);
        };
        const auto records =
            stepper->advance({t, t + training.span, times, training.lr, gradient_of});
        record = records.front();
        staleness.resize(training.span, training.replicas);
        for (int64_t k = 0; k < training.span; ++k) {
            for (int64_t i = 0; i < training.replicas; ++i) {
                staleness(k, i) = records[static_cast<size_t>(k)].staleness[static_cast<size_t>(i)];
            }
        }
        t += training.span;
    }

    void step() {
        if (const auto* asynchronous = stepper->algorithm().asynchronous()) {
            return advance(*asynchronous);
        }
        record = {};
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

ProductionRun::ProductionRun(comm::World& world, const Problem& problem,
                             const TrainingSettings& training,
                             const algorithms::AlgorithmEntry& row)
    : impl_(std::make_unique<Impl>(world, problem, training, row)) {}
ProductionRun::~ProductionRun() = default;

void ProductionRun::step() { impl_->step(); }
MatrixXd ProductionRun::parameters() { return impl_->gather(impl_->x()); }
MatrixXd ProductionRun::last_gradients() { return impl_->gather(impl_->drawn.rows()); }

Record ProductionRun::last_record() {
    algorithms::IterationRecord& mine = impl_->record;
    impl_->wait();
    mine.receive_device_values();
    const int64_t n = impl_->training.replicas;
    const auto all = [&](const std::vector<double>& local) { return impl_->all(local); };
    Record out;
    const Eigen::VectorXd norm = all(mine.norm);
    if (norm.size() == 2 * n) out.norm = norm.reshaped<Eigen::RowMajor>(n, 2);
    out.update_norm = all(mine.update_norm);
    out.variance = Eigen::Map<const Eigen::VectorXd>(
        mine.variance.data(), static_cast<Eigen::Index>(mine.variance.size()));
    out.bytes = mine.bytes_sent;
    out.staleness = impl_->staleness;
    return out;
}

Record record_of(const RecordedIteration& recorded, double bytes) {
    const Matrix& x = recorded.before;
    const Eigen::Index weights = x.cols() - kBiases;
    Record out;
    out.norm.resize(x.rows(), 2);
    out.norm << x.leftCols(weights).rowwise().norm(), x.rightCols(kBiases).rowwise().norm();
    out.update_norm = recorded.update.rowwise().norm();
    const Matrix spread = x.rowwise() - x.colwise().mean();
    const auto n = static_cast<double>(x.rows());
    out.variance.resize(2);
    out.variance << spread.leftCols(weights).squaredNorm() / (n * static_cast<double>(weights)),
        spread.rightCols(kBiases).squaredNorm() / (n * kBiases);
    out.bytes = recorded.rows * static_cast<double>(x.cols()) * bytes;
    out.staleness = recorded.staleness;
    return out;
}

MatrixXd ProductionRun::state(const std::string& name) {
    for (const auto& entry : impl_->table->entries()) {
        if (entry.name == name) return impl_->gather(entry.buffer.rows());
    }
    return {};
}

Eigen::VectorXd ProductionRun::numbers(const std::string& name) {
    for (const auto& entry : impl_->table->entries()) {
        if (entry.name != name) continue;
        const auto* mine = entry.buffer.rows().row<double>(0);
        return impl_->all({mine, mine + entry.buffer.rows().count});
    }
    return {};
}

std::vector<std::string> ProductionRun::save() const {
    impl_->wait();
    std::vector<std::string> out;
    for (const auto& entry : impl_->table->entries()) {
        const void* data = entry.data ? entry.data : entry.buffer.rows().data;
        out.emplace_back(static_cast<const char*>(data), entry.size);
    }
    out.push_back(impl_->stepper->staged() ? impl_->stepper->staged()->save() : "");
    return out;
}

void ProductionRun::restore(const std::vector<std::string>& saved, int64_t t) {
    impl_->wait();
    size_t k = 0;
    for (const auto& entry : impl_->table->entries()) {
        void* data = entry.data ? entry.data : entry.buffer.rows().data;
        std::memcpy(data, saved.at(k).data(), entry.size);
        ++k;
    }
    if (auto* staged = impl_->stepper->staged()) staged->restore(saved.at(k));
    impl_->t = t;
}

}  // namespace dbench::conform
