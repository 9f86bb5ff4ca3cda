#include "algorithms/step/stepper.hpp"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "algorithms/codecs/codec.hpp"
#include "base/error.hpp"

namespace dbench::algorithms {
namespace {

// Throws UserError if a tensor that the controller measures does not exist.
void check_controller(const graphs::StagedSchedule& staged, const arena::Layout& layout) {
    if (const auto request = staged.measure_request()) requested_tensors(*request, layout);
}

std::optional<Clipping> clipping_of(const base::Json& optimizer) {
    const base::Json norm = optimizer.value("clip_norm", base::Json(nullptr));
    if (norm.is_null()) return std::nullopt;
    return Clipping(norm.get<double>());
}

}  // namespace

RunSchedule::RunSchedule(std::shared_ptr<graphs::Schedule> graph_in, const AlgorithmEntry& row,
                         const base::Json& algorithm, const graphs::RunFacts& run)
    : graph(std::move(graph_in)), exchanges(graph) {
    if (graph && row.rules.schedule) exchanges = row.rules.schedule(algorithm, graph, run);
}

graphs::StagedSchedule* RunSchedule::staged() const {
    if (!exchanges) return nullptr;
    graphs::StagedSchedule* own = exchanges->staged();
    return own ? own : graph->staged();
}

Stepper::Stepper(comm::World& world, const comm::Placement& placement, const arena::Layout& layout,
                 const StepSpec& spec, RunSchedule schedule)
    : placement_(placement),
      layout_(layout),
      type_(spec.type),
      message_(spec.message),
      schedule_(std::move(schedule)),
      staged_(schedule_.staged()),
      parts_(make(spec)),
      clipping_(clipping_of(spec.optimizer)),
      exchange_(std::make_unique<comm::Exchange>(world, placement, layout, this->schedule(),
                                                 spec.reduction, spec.message)),
      timers_(world.place().compute(), &world.wait_times()),
      probe_(spec.profile, layout, placement.replicas, placement.count(world.rank()), *exchange_,
             timers_),
      control_(staged_, world, placement, layout, *exchange_, timers_),
      queue_(world.place().compute()),
      no_decay_(std::vector<double>(layout.tensors().size())) {
    if (staged_) check_controller(*staged_, layout);
    exchange_->share_host_memory();
    auto table =
        arena::StateTable::dry(spec.type, layout.columns(), exchange_->peer_readable_memory());
    // A second pair of objects, because the run's own parts may declare their state only once.
    make(spec).declare(table);
    state_elements_ = table.elements_per_replica();
}

Stepper::Parts Stepper::make(const StepSpec& spec) const {
    const OptimizerEntry* optimizer = spec.optimizer_row;
    if (!optimizer) {
        optimizer =
            base::find_entry(optimizer_table(), spec.optimizer.at("type").get<std::string>());
    }
    Compression compression = spec.compression;
    if (!compression.codec) compression.codec = make_codec("float32");
    return {optimizer->make(spec.optimizer, layout_),
            spec.row.make(spec.algorithm,
                          {placement_.replicas, schedule(), spec.run, spec.lr_max, &layout_,
                           spec.type, compression, spec.minibatch, spec.seed})};
}

void Stepper::Parts::declare(arena::StateTable& table) {
    optimizer->declare(table);
    algorithm->declare(table);
}

graphs::Round Stepper::round(int64_t t) const {
    return schedule() ? schedule()->at(t) : graphs::Round{0, true};
}

void Stepper::attach(arena::StateTable& table, arena::Rows g) {
    parts_.declare(table);
    table_ = &table;
    g_ = g;
}

void Stepper::step(int64_t t, double lr, const Gradients& gradients, IterationRecord& record,
                   Observer& observer) {
    timers_.start();
    record.iteration = t;
    record.lr = lr;
    record.round = round(t);
    probe_.begin(t, record, control_.begin(t, observer));
    Step step{.t = t,
              .numbers = {lr, t + 1},
              .round = record.round,
              .x = table_->parameters(),
              .g = g_,
              .layout = layout_,
              .exchange = *exchange_,
              .optimizer = *parts_.optimizer,
              .timers = timers_,
              .probe = probe_,
              .control = control_,
              .state = *table_,
              .distillation = distillation_,
              .linearisation = linearisation_,
              .no_decay = no_decay_,
              .queue = queue_,
              .next_round = next_round(t)};
    run_algorithm(gradients, step);
    probe_.finish();
    control_.end(t, probe_);

    const Sent sent = parts_.algorithm->sent(t, record.round);
    fill_record(sent, 1 + step.extra_averagings, record);
    record.control_bytes = control_.bytes();
    timers_.stop();
    record.times = timers_.all();
    record.awaited_rank = timers_.awaited_rank();
}

void Stepper::trace_bucket_ready(arena::Columns columns) const {
    base::TraceEvent event;
    event.kind = base::TraceEvent::Kind::bucket_ready;
    event.begin = base::now();
    event.iteration = base::traced_iteration();
    event.bucket = base::trace_bucket_of(columns.begin);
    event.bytes = columns.count() * arena::size_of(type_);
    base::add_to_trace(event);
}

// Returns nothing if a controller may change the graph after iteration t.
std::optional<graphs::Round> Stepper::next_round(int64_t t) const {
    if (t + 1 >= end_ || staged_ || probe_.due(t + 1)) return std::nullopt;
    return round(t + 1);
}

void Stepper::fill_record(const Sent& sent, int64_t times, IterationRecord& record) const {
    record.averaged = sent.averaged;
    record.averagings = sent.averagings * times;
    record.degree = sent.degree;
    record.messages = sent.messages * times;
    record.bytes_sent = bytes_of(sent) * static_cast<double>(times);
}

double Stepper::bytes_of(const Sent& sent) const {
    const auto coded = static_cast<double>(arena::size_of(message_, type_));
    const auto whole = static_cast<double>(arena::size_of(type_));
    return ((sent.rows - sent.gathered) * coded + sent.gathered * whole) *
               static_cast<double>(layout_.numel()) +
           sent.bytes;
}

// Runs the algorithm around `gradients` and passes it each tile of a complete bucket; with gradient
// clipping all tiles follow after backward.
void Stepper::run_algorithm(const Gradients& gradients, Step& step) {
    Algorithm& algorithm = *parts_.algorithm;
    std::vector<arena::Columns> complete;  // Tiles that wait for clipping.
    algorithm.before_forward(step);
    gradients([&](arena::Columns columns) {
        const base::TraceBucketScope bucket(columns.begin);
        if (base::tracing()) trace_bucket_ready(columns);
        probe_.gradient(g_, columns);
        for (const arena::Columns tile : layout_.tiles(columns)) {
            if (clipping_) {
                complete.push_back(tile);
            } else {
                algorithm.ready(step, tile);
            }
        }
    });
    if (clipping_) {
        {
            const TimedScope scope(timers_, Time::update);
            clipping_->clip(layout_, g_, queue_);
        }
        for (const arena::Columns columns : complete) algorithm.ready(step, columns);
    }
    algorithm.after_backward(step);
}

}  // namespace dbench::algorithms
