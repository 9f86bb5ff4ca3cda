#include "train/run/session.hpp"

#include <nlohmann/json.hpp>

#include "algorithms/codecs/codec.hpp"
#include "algorithms/learning_rates/learning_rate.hpp"
#include "algorithms/optimizers/optimizer_spec.hpp"
#include "base/error.hpp"
#include "train/batches/resident_images.hpp"
#include "train/device/device.hpp"
#include "train/models/layers/autocast.hpp"
#include "train/models/model.hpp"
#include "train/models/names.hpp"
#include "train/passes/capture.hpp"
#include "train/passes/stacking.hpp"
#include "train/replicas.hpp"
#include "train/run/activations.hpp"
#include "train/run/asynchronous_trainer.hpp"
#include "train/run/run_facts.hpp"
#include "train/run/run_plan.hpp"

namespace dbench::train {
namespace {

using base::Json;
using base::UserError;

template <class Row>
const Row& entry_of(const std::vector<Row>& table, const Json& spec) {
    return *base::find_entry(table, spec.at("type").get<std::string>());
}

std::string shape_text(const data::Dataset& set) {
    std::string text;
    for (const int64_t length : set.shape()) {
        if (!text.empty()) text += 'x';
        text += std::to_string(length);
    }
    return text;
}

}  // namespace

// Members are filled in stages: the constructor (what the spec names), connect (exchanges), prepare
// (replicas), train (the loop). Only the first stage does not depend on the rank.
struct Session::Impl {
    comm::World& world;
    comm::Placement placement;
    SessionOptions options;
    const RunSpec& spec;
    data::DataContext data_context;
    data::DataSets data;
    std::shared_ptr<const data::Partition> partition;
    data::DataSpec data_keys;
    data::BatchPlan batches;
    std::unique_ptr<Model> model;
    std::vector<base::InputDigest> model_digests;
    arena::Layout layout;
    TrainerPlan plan;
    EvaluationPlan evaluation;
    std::optional<algorithms::LearningRate> learning_rate;
    graphs::RunFacts facts;
    algorithms::Facts combination;
    StackingObstacles obstacles;
    StackingChoice stacking;
    Residence residence;
    CaptureChoice capture{};
    algorithms::RunSchedule schedule;
    algorithms::Delays delays;

    std::unique_ptr<Replicas> replicas;
    std::unique_ptr<ResidentImages> resident;  // Null: minibatches come from the host.
    // Destroyed before the replicas whose rows it may be moving.
    std::unique_ptr<algorithms::Stepper> stepper;
    std::unique_ptr<Executor> executor;
    std::unique_ptr<Evaluator> evaluator;
    std::unique_ptr<data::Loader> loader;
    std::unique_ptr<data::Replay> replay;

    Impl(comm::World& w, const comm::Placement& p, const SessionOptions& o)
        : world(w),
          placement(p),
          options(o),
          spec(options.run),
          delays(spec.delays, placement.replicas, spec.seed.delay) {
        combination = algorithms::facts_of(*options.algorithm);
        combination.message = algorithms::message_facts(o.spec->at("message"));
        combination.arithmetic = arithmetic_facts(spec);
        algorithms::require_compatible(combination);
        data_context = {placement.replicas, spec.seed.data};
        const Json& data_spec = o.spec->at("data");
        data = options.data ? options.data->load(data_spec, data_context)
                            : data::load_data(data_spec, data_context);
        partition = entry_of(data::partition_table(), data_spec.at("partition"))
                        .make(data_spec.at("partition"), *data.train, data_context);
        for (base::InputDigest& read : partition->inputs()) data.digests.push_back(read);
        data_keys = data::DataSpec::section().read(data_spec);
        batches = data::plan_batches(data_keys.batch_size, *partition, placement.replicas,
                                     data.train->size());
        const base::RunLength run = run_length(spec, batches);
        model = entry_of(model_table(), o.spec->at("model"))
                    .make(o.spec->at("model"),
                          {data.train->shape(), data.train->classes(), data.train->tokens(),
                           batches.stream && !batches.full ? batches.batch_size : 0,
                           options.model_file, data.inputs});
        if (options.model_file) {
            model_digests.push_back(base::digest_of_file(model_file(o.spec->at("model")),
                                                         *std::exchange(options.model_file, {})));
        }
        if (spec.compute == Compute::bfloat16) model = autocast(std::move(model));
        options.device.allow_tf32(spec.compute == Compute::tf32);
        layout = layout_of(model->declaration());
        const Json& optimizer_spec = o.spec->at("optimizer");
        const auto common = algorithms::OptimizerSpec::section().read(optimizer_spec);
        learning_rate.emplace(o.spec->at("schedule"), common.lr, run);
        plan = plan_training(spec, run, data.train->size());
        evaluation = plan_evaluation(spec, *data.test);
        evaluation.texts = options.texts;
        const int64_t element = arena::size_of(spec.message.rows, spec.precision);
        facts = {run, static_cast<double>(layout.numel() * element)};
        const auto& row = entry_of(algorithms::algorithm_table(), *options.algorithm);
        if (options.graph) {
            schedule =
                algorithms::RunSchedule(options.graph(facts), row, *options.algorithm, facts);
        }
        check_combination();
        obstacles = {algorithms::streams_obstacle(combination),
                     algorithms::batched_obstacle(combination)};
        capture = choose_capture(spec.capture, algorithms::capture_obstacle(combination));
        residence = find_residence();
    }

    /// Throws UserError if the parts of the run cannot work together.
    void check_combination() {
        if (spec.profile.trace && combination.traits.asynchronous) {
            throw UserError("/profile/trace: cannot be combined with " +
                            options.algorithm->at("type").get<std::string>() +
                            " (its replicas have no common iterations): remove the key");
        }
        if (combination.traits.divides_by_lr) {
            const int64_t zero = learning_rate->first_zero();
            if (zero >= 0) combination.zero_rate = zero;
        }
        combination.model = facts_of(*model);
        combination.independent_start = spec.init == Init::independent;
        combination.data = data_facts(*data.train, batches);
        const bool on_host = options.device.is_host();
        combination.passes = pass_facts(spec, data_keys.accumulate, on_host);
        if (spec.evaluate.recalibrate) {
            combination.passes->recalibrated_samples =
                std::min(evaluation.batch_size, data.train->size());
        }
        const bool single = batches.batch_size / data_keys.accumulate < 2 ||
                            combination.passes->recalibrated_samples == 1;
        if (single && combination.model->statistics) {
            combination.model->normalised_values = normalised_values(*model, data.train->shape());
        }
        combination.data->token_batches =
            data_keys.batch_size.unit == data::BatchSize::Unit::tokens;
        combination.scaled_rate = learning_rate->scales();
        combination.schedule = schedule_facts(schedule.staged(), plan.iterations);
        combination.ranks = {
            .replicas = placement.replicas, .ranks = world.size(), .on_gpus = !on_host};
        combination.profiles_after = spec.profile.after;
        algorithms::require_compatible(combination);
    }

    void connect() {
        const auto& row = entry_of(algorithms::algorithm_table(), *options.algorithm);
        stepper = std::make_unique<algorithms::Stepper>(
            world, placement, layout,
            algorithms::StepSpec{row,
                                 *options.algorithm,
                                 options.spec->at("optimizer"),
                                 facts,
                                 learning_rate->largest(),
                                 spec.precision,
                                 choose_reduction(spec, world),
                                 spec.message.rows,
                                 plan.profile,
                                 {spec.message.codec, spec.seed.message},
                                 nullptr,
                                 minibatch(),
                                 spec.seed.graph},
            schedule);
    }

    algorithms::Minibatch minibatch() const {
        const int64_t classes = data.train->classes();
        return {batches.batch_size, std::max<int64_t>(1, classes), classes > 0};
    }

    Load load() const {
        const data::Dataset& train = *data.train;
        const auto taken = static_cast<double>(plan.samples_per_iteration);
        if (!train.tokens()) return {taken, 0};
        const data::Extent all = data::total_extent(train);
        const double share = taken / static_cast<double>(train.size());
        return {share * static_cast<double>(all.rows), share * static_cast<double>(all.terms)};
    }

    EstimateInputs estimate_inputs() const { return estimate_inputs(placement); }
    EstimateInputs estimate_inputs(const comm::Placement& assumed) const {
        const int64_t validation = data.validation ? data.validation->size() : 0;
        return {assumed,
                plan,
                batches,
                layout,
                *stepper,
                delays,
                combination,
                spec.message.rows,
                buffer_layout_of(*model).columns() + carried_layout_of(*model).columns(),
                static_cast<int64_t>(evaluation.replicas.size()) + 1,
                data.test->size() + validation,
                load().samples};
    }

    /// Decides with the device memory that is free now.
    Residence find_residence() const { return find_residence(placement); }
    Residence find_residence(const comm::Placement& assumed) const {
        const int64_t local = assumed.count(0);  // The rank with most replicas.
        const int64_t samples = batches.samples_per_iteration / placement.replicas * local;
        return choose_residence(data_keys.resident, *data.train, options.device, spec.precision,
                                samples);
    }

    void prepare() {
        if (world.rank() == 0 && evaluation.writes_texts()) {
            const std::string obstacle = texts_obstacle(evaluation.texts);
            if (!obstacle.empty()) throw base::UserError(obstacle);
        }
        replicas = std::make_unique<Replicas>(
            *model, placement, world.rank(), spec.precision, spec.init, spec.seed.init,
            stepper->exchange().peer_readable_memory(), options.device);
        stepper->attach(replicas->state(), replicas->g());
        residence = find_residence();
        if (residence.on) {
            resident =
                std::make_unique<ResidentImages>(*data.train->stored(), spec.precision,
                                                 model->order(), options.device.place().compute());
        }
        make_executor();
        evaluator = std::make_unique<Evaluator>(world, placement, *model, *replicas,
                                                stepper->exchange(), data, evaluation);
    }

    /// Returns a minibatch of the first samples.
    const data::Batch& first_samples(data::PlainBatches& plain) const {
        return plain.fill(*data.train, 0, std::min(batches.batch_size, data.train->size()));
    }

    void make_executor() {
        executor = std::make_unique<Executor>(*model, *replicas, pass_options());
    }

    PassOptions pass_options() const {
        return {spec.seed.dropout, data_keys.accumulate, spec.label_smoothing,
                stacking.way,      resident.get(),       capture.captured ? kMaxCaptured : 0};
    }

    /// Returns the simulated computation times of an asynchronous algorithm's gradients.
    algorithms::ComputeTimes compute_times() const {
        return algorithms::ComputeTimes(stepper->algorithm().asynchronous()->pace(),
                                        spec.seed.delay, delays);
    }

    void make_loader() {
        data::Loader::Options loading;
        loading.first_iteration = plan.first;
        loading.last_iteration = plan.iterations;
        loading.begin = placement.begin(world.rank());
        loading.end = placement.begin(world.rank() + 1);
        loading.type = spec.precision;
        loading.order = model->order();
        loading.augment = data_keys.augment;
        loading.augment_seed = spec.seed.augment;
        loading.threads = data.threads;
        loading.check_wait = [this](double began) {
            world.check_own_wait("the batch of the next iteration", began);
        };
        if (resident) loading.contents = data::BatchBuffer::Contents::windows;
        if (stepper->algorithm().asynchronous() && world.size() == 1) {
            loading.batch_order = batch_order(plan, compute_times(), placement.replicas);
        }
        loader = std::make_unique<data::Loader>(data.train, partition, batches, loading);
        replay = std::make_unique<data::Replay>(data.train, partition, batches, loading);
        stepper->set_distillation(
            [this](arena::Rows x, arena::Rows teacher, int64_t t, double temperature) {
                const auto batch = [&](int64_t i) -> const data::Batch& {
                    return replay->batch(t, x.first + i);
                };
                executor->distil(t, x, teacher, batch, temperature, stepper->timers());
            });
        const auto batch_of = [this](int64_t i, int64_t t) -> const data::Batch& {
            return replay->batch(t, placement.begin(world.rank()) + i);
        };
        stepper->set_linearisation(
            {[this, batch_of](const char* weights, int64_t i, int64_t t,
                              const algorithms::Linearised& out) {
                 executor->linearise(weights, i, batch_of(i, t), out, stepper->timers());
             },
             [this, batch_of](const char* weights, int64_t i, int64_t t) {
                 return executor->loss(weights, i, batch_of(i, t), stepper->timers());
             }});
    }
};

Session::Session(comm::World& world, const comm::Placement& placement,
                 const SessionOptions& options)
    : impl_(std::make_unique<Impl>(world, placement, options)) {}
Session::~Session() = default;

void Session::connect() { impl_->connect(); }

const arena::Layout& Session::layout() const { return impl_->layout; }
double Session::row_bytes() const { return impl_->facts.row_bytes; }
arena::DType Session::type() const { return impl_->spec.precision; }
const TrainerPlan& Session::plan() const { return impl_->plan; }
Session::Load Session::load() const { return impl_->load(); }
const graphs::Schedule* Session::schedule() const { return impl_->schedule.exchanges.get(); }
const graphs::StagedSchedule* Session::staged() const { return impl_->schedule.staged(); }
bool Session::asynchronous() const { return impl_->stepper->algorithm().asynchronous(); }
const std::vector<int64_t>& Session::evaluated() const { return impl_->evaluation.replicas; }
bool Session::classifies() const { return impl_->data.train->classes() > 0; }
bool Session::has_validation() const { return impl_->data.validation != nullptr; }
const std::vector<base::InputDigest>& Session::model_digests() const {
    return impl_->model_digests;
}
const std::vector<base::InputDigest>& Session::data_digests() const { return impl_->data.digests; }
std::vector<std::pair<std::string, std::string>> Session::data_sizes() const {
    const data::DataSets& data = impl_->data;
    const int64_t validation = data.validation ? data.validation->size() : 0;
    return {{"training samples", std::to_string(data.train->size())},
            {"validation samples", std::to_string(validation)},
            {"test samples", std::to_string(data.test->size())},
            {"classes", std::to_string(data.train->classes())},
            {"shape of a sample", shape_text(*data.train)}};
}
std::string Session::sample_shape() const {
    const data::Dataset& train = *impl_->data.train;
    return train.ragged() ? "" : shape_text(train);
}
std::optional<data::Heterogeneity> Session::heterogeneity() const {
    return data::heterogeneity(*impl_->data.train, *impl_->partition, impl_->placement.replicas);
}
Session::Sending Session::sending(const Json& algorithm, const graphs::Schedule& schedule,
                                  int64_t iterations) const {
    const Impl& s = *impl_;
    const auto& codec = s.spec.message.codec;
    const auto made = algorithms::entry_of(algorithm).make(
        algorithm, {s.placement.replicas,
                    &schedule,
                    s.facts,
                    s.learning_rate->largest(),
                    &s.layout,
                    s.spec.precision,
                    {codec ? codec : algorithms::make_codec("float32"), s.spec.seed.message},
                    s.minibatch(),
                    s.spec.seed.graph});
    Sending found{0, made->asynchronous() != nullptr};
    double rows = 0;
    for (int64_t t = 0; t < iterations; ++t) {
        const algorithms::Sent sent = made->sent(t + 1, schedule.at(t));
        rows += sent.rows;
        found.bytes += s.stepper->bytes_of(sent) / static_cast<double>(iterations);
    }
    // An algorithm that sends no rows has messages of its own for each link.
    if (rows == 0 && found.bytes > 0) found.over_links = true;
    return found;
}
Estimates Session::estimate(const std::optional<comm::Placement>& placement) {
    const comm::Placement assumed = placement.value_or(impl_->placement);
    const bool other = assumed.ranks != impl_->placement.ranks;
    if (other) {
        algorithms::Facts facts = impl_->combination;
        facts.ranks->ranks = assumed.ranks;
        algorithms::require_compatible(facts);
    }
    Estimates found = train::estimate(impl_->estimate_inputs(assumed));
    found.data_bytes = (other ? impl_->find_residence(assumed) : impl_->residence).bytes;
    found.memory_bytes += found.data_bytes;
    return found;
}

std::optional<int64_t> Session::activation_bytes(const comm::Placement& placement) const {
    const Impl& s = *impl_;
    if (s.data_keys.batch_size.unit == data::BatchSize::Unit::tokens) return std::nullopt;
    const int64_t microbatches = s.data_keys.accumulate;
    const PassSizes sizes{(s.batches.batch_size + microbatches - 1) / microbatches,
                          s.evaluation.batch_size, carried_layout_of(*s.model).columns() > 0};
    // Evaluations pass one replica at a time.
    const int64_t together = s.spec.stacking == Stacking::off ? 1 : placement.count(0);
    const ActivationBytes each = train::activation_bytes(*s.model, s.spec, *s.data.train, sizes);
    return std::max(together * each.training, each.evaluation);
}

std::vector<algorithms::MetricName> Session::metrics() const {
    std::vector<algorithms::MetricName> names;
    for (const Metric* metric : impl_->evaluation.metrics) {
        names.push_back({metric->name, metric->unit, metric->description});
    }
    return names;
}

std::vector<std::string> Session::warnings(const Estimates& estimates) const {
    std::vector<std::string> all = impl_->data.warnings;
    for (const auto& text : train::warnings(impl_->estimate_inputs(), estimates)) {
        all.push_back(text);
    }
    for (std::string& text : impl_->learning_rate->warnings()) all.push_back(std::move(text));
    const int sharing = impl_->options.device.ranks_per_gpu();
    if (sharing > 1) {
        all.push_back("/share_gpus: up to " + std::to_string(sharing) +
                      " ranks compute on the same GPU, so times of this run cannot be compared");
    }
    const auto& trace = impl_->spec.profile.trace;
    if (trace && trace->begin >= impl_->plan.iterations) {
        all.push_back("/profile/trace/iterations: nothing is traced (the run has " +
                      std::to_string(impl_->plan.iterations) +
                      " iterations, counted from 0): choose earlier iterations");
    }
    return all;
}

std::string Session::remark() const { return impl_->stepper->algorithm().remark(impl_->world); }
std::string Session::reduction() const {
    const bool library = choose_reduction(impl_->spec, impl_->world) == comm::Reduction::library;
    return library ? "library" : "reproducible";
}

std::string Session::rows_on_host() const {
    std::string how = impl_->stepper->exchange().rows_on_host();
    if (asynchronous() && !how.empty()) how = "as messages (replicas do not wait for one another)";
    return how;
}
void Session::prepare() { impl_->prepare(); }

void Session::choose_stacking() {
    Impl& s = *impl_;
    if (s.spec.stacking == Stacking::off) return;
    data::PlainBatches plain(s.spec.precision, s.model->order());
    s.stacking = train::choose_stacking(s.world, s.placement, s.spec, s.obstacles, *s.model,
                                        *s.replicas, s.pass_options(), s.first_samples(plain));
    s.make_executor();
}
std::string Session::stacking() const { return to_text(impl_->stacking); }

std::string Session::resident() const { return to_text(impl_->residence); }

std::string Session::capture() const {
    const CaptureChoice& chosen = impl_->capture;
    const std::string concurrent_obstacle =
        algorithms::concurrent_capture_obstacle(*impl_->combination.model);
    if (chosen.captured && impl_->stacking.way == Stacking::streams &&
        !concurrent_obstacle.empty()) {
        return "off (" + concurrent_obstacle + ")";
    }
    return (chosen.captured ? "on" : "off") +
           (chosen.reason.empty() ? "" : " (" + chosen.reason + ")");
}

double Session::seconds_per_iteration() {
    data::PlainBatches plain(impl_->spec.precision, impl_->model->order());
    const data::Batch& batch = impl_->first_samples(plain);
    return impl_->executor->estimate_seconds(batch) *
               static_cast<double>(impl_->replicas->x().count) +
           (asynchronous() && impl_->world.size() == 1
                ? 0
                : slowest_delay(impl_->delays, impl_->placement, impl_->plan.iterations));
}

std::string Session::replica_change_obstacle(const CheckpointHead& head) const {
    const Impl& s = *impl_;
    const Json earlier_size = Json::parse(head.spec).at("data").at("batch_size");
    algorithms::Facts facts = s.combination;
    facts.resume = {
        .replicas = head.replicas,
        .same_global_batch = earlier_size.is_object() && earlier_size.contains("global") &&
                             earlier_size == s.options.spec->at("data").at("batch_size")};
    const auto problems = algorithms::find_problems(facts);
    return problems.empty() ? "" : problems.front().text();
}

void Session::resume(Checkpoints& checkpoints, const CheckpointHead& head) {
    Impl& s = *impl_;
    checkpoints.read(head.iteration, s.replicas->state());
    // A controller's decisions do not apply to another number of replicas; it starts anew. A plan
    // follows from the spec and the data, which may have changed.
    auto* staged = s.stepper->staged();
    const bool decides = staged && staged->measure_request();
    if (decides && head.replicas == s.placement.replicas) staged->restore(head.controller);
    s.plan.first = head.iteration;
}

StepMeasurement Session::measure_steps(int64_t iterations) {
    Impl& s = *impl_;
    s.make_loader();
    return train::measure_steps(s.world.place().compute(), *s.replicas, *s.executor, *s.loader,
                                *s.stepper, *s.learning_rate, iterations);
}

std::string Session::train(algorithms::Observer& observer, Checkpoints& checkpoints,
                           const base::Stopwatch& clock,
                           const std::optional<base::RunClock>& common) {
    Impl& s = *impl_;
    s.make_loader();
    const base::RunClock common_clock =
        common.value_or(base::RunClock{0, 0, base::now() - clock.seconds()});
    const auto checkpoint = [&](int64_t completed) {
        const graphs::StagedSchedule* staged = s.stepper->staged();
        CheckpointHead head;
        head.iteration = completed;
        head.elapsed = clock.seconds();
        head.spec = s.options.spec->dump();
        head.device = s.options.device.name();
        head.controller = staged ? staged->save() : "";
        checkpoints.write(head, s.replicas->state());
    };
    const TrainerParts parts{s.world,    *s.replicas,  *s.executor,      *s.loader,
                             *s.stepper, *s.evaluator, *s.learning_rate, s.delays,
                             observer,   clock,        common_clock,     checkpoint};
    if (s.stepper->algorithm().asynchronous()) {
        return s.world.size() == 1 ? train_asynchronously(parts, s.plan, s.compute_times())
                                   : train_on_ranks(parts, s.plan);
    }
    return dbench::train::train(parts, s.plan);
}

}  // namespace dbench::train
