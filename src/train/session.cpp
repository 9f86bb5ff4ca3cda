#include "train/session.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "train/models/model.hpp"
#include "train/replicas.hpp"

namespace dbench::train {
namespace {

using base::Json;
using base::UserError;

template <class Row>
const Row& row_of(const std::vector<Row>& table, const Json& spec) {
    return *base::find_row(table, spec.at("type").get<std::string>());
}

std::vector<int64_t> evaluated_replicas(const Json& value, int64_t n) {
    const int64_t m = value.is_string() ? n : std::min(n, value.get<int64_t>());
    return spaced_replicas(n, m);
}

}  // namespace

// Built in three stages: what a spec names (constructor), replicas (prepare), the run (train).
struct Session::Impl {
    comm::World& world;
    comm::Placement placement;
    const Json& spec;
    SessionOptions options;
    arena::DType dtype;
    data::DataContext data_context;
    data::DataSets data;
    std::shared_ptr<const data::Partition> partition;
    data::BatchPlan batches;
    std::unique_ptr<Model> model;
    arena::Layout layout;
    algorithms::LearningRate::Run run{};
    TrainerPlan plan;
    EvaluationPlan evaluation;
    std::unique_ptr<algorithms::LearningRate> learning_rate;

    std::unique_ptr<Replicas> replicas;
    std::unique_ptr<algorithms::Stepper> stepper;  // ends before the rows that it may be moving
    std::unique_ptr<Executor> executor;
    std::unique_ptr<Evaluator> evaluator;
    std::unique_ptr<data::Loader> loader;

    Impl(comm::World& w, const comm::Placement& p, const SessionOptions& o)
        : world(w), placement(p), spec(o.spec), options(o) {
        dtype = spec.at("precision") == "float64" ? arena::DType::float64 : arena::DType::float32;
        const Json& data_spec = spec.at("data");
        data_context = {placement.replicas, o.data_seed};
        data = data::load_data(data_spec, data_context);
        partition = row_of(data::partition_table(), data_spec.at("partition"))
                        .make(data_spec.at("partition"), *data.train, data_context);
        batches = data::plan_batches(data_spec.at("batch_size"), *partition, placement.replicas);
        model = row_of(model_table(), spec.at("model"))
                    .make(spec.at("model"), {data.train->shape(), data.train->classes()});
        layout = layout_of(model->declaration());
        make_plan();
        make_stepper();
    }

    void make_stepper() {
        const graphs::RunFacts facts{run.iterations, run.per_epoch, batches.samples_per_iteration,
                                     static_cast<double>(layout.numel() * arena::size_of(dtype))};
        const auto& row = row_of(algorithms::algorithm_table(), options.algorithm);
        algorithms::RunSchedule schedule;
        if (options.graph) {
            schedule = algorithms::RunSchedule(options.graph(facts), row, options.algorithm, facts);
        }
        if (row.accepts.divides_by_lr) check_rates(row.name);
        algorithms::StepSpec step{row, options.algorithm, spec.at("optimizer"), facts,
                                  largest_rate()};
        step.type = dtype;
        step.reduction = spec.at("reduction") == "library" ? comm::Reduction::library
                                                           : comm::Reduction::reproducible;
        step.profile = plan.profile;
        stepper = std::make_unique<algorithms::Stepper>(world, placement, layout, step,
                                                        std::move(schedule));
        check_controller();
    }

    double largest_rate() const {
        double most = 0;
        for (int64_t t = 0; t < run.iterations; ++t) most = std::max(most, learning_rate->at(t));
        return most;
    }

    void check_rates(const std::string& name) const {
        for (int64_t t = 0; t < run.iterations; ++t) {
            if (learning_rate->at(t) > 0) continue;
            throw UserError("/optimizer/lr: is 0 in iteration " + std::to_string(t) + ", but " +
                            name +
                            " divides by it: set a positive rate (a positive /schedule/lr_min or "
                            "/schedule/gamma), or choose dsgd");
        }
    }

    // A controller may average again only where the algorithm can.
    void check_controller() const {
        if (!stepper->staged()) return;
        for (int64_t t = 0; t < run.iterations && !stepper->algorithm().mixes_again(); ++t) {
            if (!stepper->staged()->may_repeat(t)) continue;
            throw UserError("/graph: averages several times in an iteration, which " +
                            options.algorithm.at("type").get<std::string>() +
                            " cannot: choose \"by\": \"degree\", or the algorithm dsgd");
        }
    }

    void make_plan() {
        const int64_t n = placement.replicas;
        run.per_epoch = batches.per_epoch;
        run.global_batch = batches.samples_per_iteration;
        run.train_samples = data.train->size();
        run.iterations = 0;
        const auto iterations = [&](const Json& duration) {
            return algorithms::to_iterations(duration, run);
        };
        run.iterations = iterations(spec.at("length"));
        learning_rate = std::make_unique<algorithms::LearningRate>(
            spec.at("schedule"), spec.at("optimizer").at("lr"), run);
        const Json& evaluate = spec.at("evaluate");
        const Json& profile = spec.at("profile");
        plan.iterations = run.iterations;
        plan.evaluate_every = evaluate.at("every").is_null() ? 0 : iterations(evaluate.at("every"));
        const Json& save = spec.at("checkpoint").at("every");
        plan.checkpoint_every = save.is_null() ? 0 : iterations(save);
        plan.train_samples = run.train_samples;
        plan.samples_per_iteration = run.global_batch;
        plan.stop_on_nonfinite = spec.at("nonfinite") == "stop";
        const auto cadence = [&](const Json& every, const char* pointer) {
            return base::to_cadence(every, pointer, run.per_epoch, run.global_batch);
        };
        const Json& variance = profile.at("variance");
        const auto rows = cadence(profile.at("every"), "/profile/every");
        const auto exact = cadence(variance.at("every"), "/profile/variance/every");
        if (profile.at("norms")) plan.profile.rows = rows;
        if (variance.at("kind") == "exact") plan.profile.variance = exact;
        plan.profile.after = profile.at("after");
        evaluation.replicas = evaluated_replicas(evaluate.at("replicas"), n);
        evaluation.batch_size = evaluate.at("batch_size");
        evaluation.recalibrate = evaluate.at("batchnorm") == "recalibrate";
    }

    Estimates estimate() {
        Estimates e;
        e.iterations = run.iterations;
        e.per_epoch = run.per_epoch;
        e.left_out = batches.left_out;
        const int64_t element = arena::size_of(dtype), local = placement.count(0);
        const double row_bytes = static_cast<double>(layout.numel() * element);
        // One period, or as many iterations all over the run.
        constexpr int64_t kSample = 64;
        const graphs::Schedule* schedule = stepper->schedule();
        const algorithms::Algorithm& algorithm = stepper->algorithm();
        const int64_t period = schedule ? schedule->period() : 1;
        const int64_t rounds =
            period > 0 ? std::min(kSample, period) : std::min(kSample, e.iterations);
        for (int64_t k = 0; k < rounds; ++k) {
            const int64_t t = period > 0 ? k : k * e.iterations / rounds;
            const graphs::Round round = stepper->round(t);
            // In the long run: what only the first iteration does is left out.
            e.bytes_per_step +=
                algorithm.sent(t + 1, round).rows * row_bytes / static_cast<double>(rounds);
            if (algorithm.keeps_received_rows()) {
                e.received_bytes =
                    std::max(e.received_bytes, stepper->exchange().receive_bytes(round));
            }
        }
        const int64_t buffers = buffer_layout_of(*model).columns();
        e.memory_bytes =
            local * element * (2 * layout.columns() + buffers + stepper->state_elements()) +
            layout.columns() * (element + 8) + e.received_bytes;
        const int64_t r = placement.ranks;
        if (r > 1 && plan.profile.variance.ever()) {
            // Each rank sends its maximal subtrees' float64 means to the owners of the columns.
            double parts = 0;
            for (int rank = 0; rank < r; ++rank) {
                parts += static_cast<double>(
                    arena::maximal_subtrees(placement.replicas,
                                            {placement.begin(rank), placement.begin(rank + 1)})
                        .size());
            }
            e.profile_bytes_per_step =
                parts * static_cast<double>(layout.numel()) * 8.0 * static_cast<double>(r - 1) /
                static_cast<double>(r) *
                static_cast<double>(plan.profile.variance.count(run.iterations)) /
                static_cast<double>(run.iterations);
        }
        const double evaluations =
            plan.evaluate_every > 0
                ? 2.0 + static_cast<double>((run.iterations - 1) / plan.evaluate_every)
                : 2.0;
        const double per_evaluation =
            static_cast<double>(evaluation.replicas.size() + 1) *
            static_cast<double>(data.test->size() +
                                (data.validation ? data.validation->size() : 0));
        const double forwards = evaluations * per_evaluation;
        const double training =
            3.0 * static_cast<double>(run.iterations) * static_cast<double>(run.global_batch);
        e.evaluation_share = forwards / (forwards + training);
        return e;
    }

    /// Local steps only, although there are others to exchange with.
    bool never_exchanges() const {
        if (placement.replicas == 1 || !stepper->schedule()) return false;
        for (int64_t t = 0; t < run.iterations; ++t) {
            if (stepper->sent(t).rows > 0) return false;
        }
        return true;
    }

    Init init() const {
        const std::string init = spec.at("init");
        if (init == "zeros") return Init::zeros;
        return init == "independent" ? Init::independent : Init::same;
    }

    void prepare() {
        replicas = std::make_unique<Replicas>(*model, placement, world.rank(), dtype, init(),
                                              options.init_seed);
        stepper->attach(replicas->state(), replicas->x(), replicas->g());
        executor = std::make_unique<Executor>(*model, *replicas);
        evaluator = std::make_unique<Evaluator>(world, placement, *model, *replicas,
                                                stepper->exchange(), data, evaluation);
    }

    void make_loader() {
        data::Loader::Options loading;
        loading.first_iteration = plan.first;
        loading.last_iteration = run.iterations;
        loading.begin = placement.begin(world.rank());
        loading.end = placement.begin(world.rank() + 1);
        loading.type = dtype;
        loading.order = model->order();
        loading.augment = spec.at("data").value("augment", false);
        loading.augment_seed = options.augment_seed;
        loader = std::make_unique<data::Loader>(data.train, partition, batches, loading);
    }
};

Session::Session(comm::World& world, const comm::Placement& placement,
                 const SessionOptions& options)
    : impl_(std::make_unique<Impl>(world, placement, options)) {}
Session::~Session() = default;

const arena::Layout& Session::layout() const { return impl_->layout; }
arena::DType Session::type() const { return impl_->dtype; }
const TrainerPlan& Session::plan() const { return impl_->plan; }
const graphs::Schedule* Session::schedule() const { return impl_->stepper->schedule(); }
const graphs::Staged* Session::staged() const { return impl_->stepper->staged(); }
const std::vector<int64_t>& Session::evaluated() const { return impl_->evaluation.replicas; }
bool Session::has_validation() const { return impl_->data.validation != nullptr; }
const std::vector<std::pair<std::string, std::string>>& Session::data_checksums() const {
    return impl_->data.checksums;
}
std::optional<data::Heterogeneity> Session::heterogeneity() const {
    return data::heterogeneity(*impl_->data.train, *impl_->partition, impl_->placement.replicas);
}
Estimates Session::estimate() { return impl_->estimate(); }

std::vector<std::string> Session::warnings(const Estimates& e) const {
    std::vector<std::string> out;
    const auto percent = [](double share) {
        return std::to_string(static_cast<int>(std::lround(100 * share))) + " %";
    };
    if (e.left_out > 0.05) {
        out.push_back("/data/batch_size: " + percent(e.left_out) +
                      " of the training samples are left out of each epoch (replicas take whole "
                      "batches only)");
    }
    if (e.evaluation_share > 0.10) {
        out.push_back("/evaluate: evaluation is " + percent(e.evaluation_share) +
                      " of the run's work (fewer /evaluate/replicas or a longer /evaluate/every "
                      "would lower it)");
    }
    if (impl_->never_exchanges()) {
        out.push_back("/algorithm/period: nothing is exchanged in the run's " +
                      std::to_string(impl_->run.iterations) +
                      " iterations (a shorter period, or a longer /length, would change that)");
    }
    if (const graphs::Staged* staged = impl_->stepper->staged()) {
        for (const auto& text : staged->warnings()) out.push_back(text);
        bool due = !staged->wish();
        for (int64_t t = 0; t < impl_->run.iterations && !due; ++t) due = staged->due(t);
        if (!due) {
            out.push_back("/graph/every: nothing is measured in " +
                          std::to_string(impl_->run.iterations) +
                          " iterations, so the graph never changes");
        }
    }
    return out;
}

void Session::prepare() { impl_->prepare(); }

double Session::seconds_per_iteration() {
    data::PlainBatches plain(impl_->dtype, impl_->model->order());
    const int64_t count = std::min(impl_->batches.batch_size, impl_->data.train->size());
    const data::Batch& batch = plain.fill(*impl_->data.train, 0, count);
    return impl_->executor->estimate_seconds(batch) *
           static_cast<double>(impl_->replicas->x().count);
}

std::string Session::cannot_change_replicas(const CheckpointHead& head) const {
    const Impl& s = *impl_;
    if (head.replicas == s.placement.replicas) return "";
    const std::string change = std::to_string(head.replicas) + " replicas cannot become " +
                               std::to_string(s.placement.replicas);
    if (s.stepper->algorithm().keeps_messages()) {
        return "/replicas: " + change + " with " +
               s.options.algorithm.at("type").get<std::string>() +
               ", which keeps messages of its neighbours: set it back";
    }
    const Json then = Json::parse(head.spec).at("data").at("batch_size");
    if (!then.is_object() || then != s.spec.at("data").at("batch_size")) {
        return "/data/batch_size: " + change +
               " where a replica's batch is given: an iteration would be another number of "
               "samples; runs whose replicas may change say {\"global\": samples}";
    }
    return "";
}

void Session::resume(Checkpoints& checkpoints, const CheckpointHead& head) {
    Impl& s = *impl_;
    checkpoints.read(head.iteration, s.replicas->state());
    // A controller that decided for another graph's replicas begins anew.
    const bool same = head.replicas == s.placement.replicas;
    if (auto* staged = s.stepper->staged(); staged && same) staged->restore(head.controller);
    s.plan.first = head.iteration;
}

std::string Session::train(algorithms::Observer& observer, Checkpoints& checkpoints) {
    Impl& s = *impl_;
    s.make_loader();
    const auto checkpoint = [&](int64_t completed) {
        const graphs::Staged* staged = s.stepper->staged();
        checkpoints.write({completed, s.spec.dump(), staged ? staged->save() : ""},
                          s.replicas->state());
    };
    const TrainerParts parts{s.world,      *s.replicas,      *s.executor, *s.loader, *s.stepper,
                             *s.evaluator, *s.learning_rate, observer,    checkpoint};
    return dbench::train::train(parts, s.plan);
}

}  // namespace dbench::train
