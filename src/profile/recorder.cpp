#include "profile/recorder.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "comm/world/background_collective.hpp"
#include "comm/world/run_together.hpp"
#include "profile/earlier_run.hpp"
#include "profile/graph_log.hpp"
#include "profile/nonfinite_losses.hpp"
#include "profile/pace.hpp"
#include "profile/packing.hpp"
#include "profile/run_file.hpp"
#include "profile/run_rows.hpp"

namespace dbench::profile {
namespace {

constexpr double kFlushSeconds = 1;
// Limits of the interval between flushes: growth factor, iterations.
constexpr int64_t kGrowth = 8, kMostIterations = 1 << 16;
constexpr int64_t kMostFlushBytes = 32 << 20;  // Limit for all ranks in one flush.
constexpr double kRhoSeconds = 20;             // Time limit for eigenvalues at the end of the run.
constexpr double kFailureWaitSeconds = 0.5;    // Time limit for rows in transit when the run fails.

/// Serialises JSON. File names need not be UTF-8: invalid bytes are replaced.
std::string as_text(const base::Json& json) {
    return json.dump(-1, ' ', false, base::Json::error_handler_t::replace);
}

std::vector<RankInfo> gather_ranks(comm::World& world, const RecorderOptions& options) {
    const base::Json mine = {world.host(), options.device, world.local_rank(), options.cpus,
                             world.slot()};
    std::vector<RankInfo> ranks;
    for (const std::string& text : world.gather(as_text(mine))) {
        const base::Json rank = base::Json::parse(text);
        ranks.push_back({rank[0], rank[1], rank[2], rank[3], rank[4]});
    }
    return ranks;
}

}  // namespace

struct Recorder::Impl {
    Impl(comm::World& world_in, comm::Placement placement_in, RecorderOptions options_in)
        : world(world_in),
          placement(placement_in),
          options(std::move(options_in)),
          local(placement.count(world.rank())),
          tensors(static_cast<int64_t>(options.tensors.size())),
          interval(options.min_sync_interval),
          nonfinite(placement.replicas),
          pace(options.iterations, options.evaluate_every) {}

    RunHead head() const;
    void create();
    void create_trace();
    std::optional<EarlierRun> earlier_run() const;
    void flush();
    void complete_flush();
    void drain();
    void write();
    void append(const std::vector<std::string>& packed);
    void write_remaining();
    int64_t next_interval(double seconds_per_iteration) const;
    double update_pace();
    void add_event(int64_t iteration, const std::string& kind, const std::string& text);
    void update_scores(const std::vector<std::string>& packed);
    void close(const RunOutcome& outcome);

    comm::World& world;
    const comm::Placement placement;
    const RecorderOptions options;
    const int64_t local, tensors;  ///< R and T.
    const base::Stopwatch clock;

    std::string packed;                ///< Rows since the last flush.
    int64_t waiting = 0;               ///< Number of rows in `packed`.
    std::unique_ptr<TraceFile> trace;  ///< Null: no iteration is traced.
    int64_t interval;                  ///< Iterations between flushes; equal on all ranks.
    /// The last flush: it sends its rows to rank 0, whose answer holds the next interval and, if
    /// the file cannot be written, the reason.
    std::unique_ptr<comm::BackgroundCollective> pending_flush;

    // Only on rank 0.
    std::vector<RankInfo> ranks;
    std::unique_ptr<RunFile> file;
    std::unique_ptr<GraphLog> graphs;
    std::vector<algorithms::IterationRecord> records;  ///< Since the last flush.
    /// Records of the last flush, not yet written.
    std::vector<algorithms::IterationRecord> flushed_records;
    Progress progress;  ///< The progress at the last flush.
    /// Iteration of the last event. Later events of earlier iterations get it too: the column is
    /// sorted.
    int64_t last_event = -1;
    /// Events of iteration first - 1 that the file holds already: kinds and texts.
    std::vector<std::pair<std::string, std::string>> events_of_start;
    NonfiniteLosses nonfinite;
    Pace pace;
    std::string problem;  ///< The reason why the file can no longer be written; "" if it can.
    bool ended = false;
};

RunHead Recorder::Impl::head() const {
    RunHead head;
    static_cast<RunDescription&>(head) = options;
    head.ranks = ranks;
    for (int rank = 0; rank < placement.ranks; ++rank) {
        head.first_replica.push_back(placement.begin(rank));
    }
    head.axes = {placement.replicas, placement.ranks, tensors, std::ssize(options.evaluated)};
    return head;
}

/// Returns the parts of the existing file that this start keeps.
std::optional<EarlierRun> Recorder::Impl::earlier_run() const {
    if (!options.continued) return std::nullopt;
    if (options.first > 0) return read_earlier_run(options.path, options.first);
    try {
        return read_earlier_run(options.path, 0);
    } catch (const base::UserError& error) {
        base::warn("the list of earlier starts is lost: " + std::string(error.what()));
        return std::nullopt;  // No iteration is lost, so the run can start.
    }
}

void Recorder::Impl::create() {
    ranks = gather_ranks(world, options);
    comm::run_together(world, [&] {
        if (world.rank() != 0) return;
        graphs = std::make_unique<GraphLog>(options.schedule, options.certificate,
                                            options.certified, options.max_random_matrices);
        const std::optional<EarlierRun> earlier = earlier_run();
        // The new file replaces the earlier one, and has its matrices if the replicas are the same.
        if (earlier && earlier->replicas == placement.replicas) graphs->continue_from(*earlier);
        RunHead begin = head();
        if (earlier) begin.earlier = &*earlier;
        const bool has_rows = earlier && earlier->first > 0;
        begin.axes.ranks = std::max(begin.axes.ranks, has_rows ? earlier->ranks : 0);
        file = std::make_unique<RunFile>(begin);
        if (earlier) events_of_start = earlier->last_events;
        if (options.first == 0) {
            remove_traces(options.path);
        } else {
            trim_traces(options.path, options.traced ? placement.ranks : 0, options.first);
        }
    });
    if (options.traced) create_trace();
    progress.iterations = options.iterations;
    progress.first = progress.completed = options.first;
}

/// Creates this rank's trace. Throws UserError on all ranks if any rank cannot.
void Recorder::Impl::create_trace() {
    std::string obstacle;
    try {
        trace = std::make_unique<TraceFile>(
            TraceFile::Options{options.path, world.rank(), world.host(), *options.traced,
                               options.common_clock, options.first});
    } catch (const std::exception& error) {
        obstacle = error.what();
    }
    world.agree(obstacle, true);
}

int64_t Recorder::Impl::next_interval(double seconds) const {
    const double wanted = kFlushSeconds / std::max(seconds, 1e-9);
    const int64_t row = packed_size(placement.replicas, tensors, options.features.norms) +
                        packed_size(0, 0, false) * placement.ranks;
    const int64_t most = std::min({interval * kGrowth, kMostIterations, kMostFlushBytes / row});
    const double next = std::min(wanted, static_cast<double>(most));
    return std::max(options.min_sync_interval, static_cast<int64_t>(next));
}

// A rank waits only for ranks that are late by a whole interval: one flush sends the rows, and the
// next one reads rank 0's answer.
void Recorder::Impl::flush() {
    complete_flush();
    base::Json answer = {interval, problem};
    if (!records.empty()) answer[0] = next_interval(update_pace());
    flushed_records = std::exchange(records, {});
    pending_flush = std::make_unique<comm::BackgroundCollective>(
        world, "the gathering of measurements", std::exchange(packed, {}),
        [text = as_text(answer)](const std::vector<std::string>&) { return text; });
    waiting = 0;
}

/// Completes the last flush, at the same iteration on all ranks.
void Recorder::Impl::complete_flush() {
    if (!pending_flush) return;
    write();
    const base::Json answer = base::Json::parse(pending_flush->answer());
    pending_flush.reset();
    interval = answer[0];
    if (const std::string reason = answer[1]; !reason.empty()) throw base::RunError(reason);
}

/// Waits until all rows are in the file, or all ranks know why they are not.
void Recorder::Impl::drain() {
    if (waiting > 0) flush();
    complete_flush();
    world.agree(problem, false);
}

/// Writes the rows of the last flush to the file, on rank 0.
void Recorder::Impl::write() {
    if (flushed_records.empty()) return;
    const std::vector<std::string>& all = pending_flush->texts();
    if (problem.empty()) {
        try {
            append(all);
        } catch (const std::exception& error) {
            problem = error.what();  // The answer to the next flush reports it to the other ranks.
        }
    }
    flushed_records.clear();
    if (problem.empty() && options.progress && !progress.done) options.progress(progress);
}

void Recorder::Impl::append(const std::vector<std::string>& all) {
    append_rows(*file, *graphs, placement, tensors, flushed_records, all);
    update_scores(all);
    file->commit();
}

/// Runs on rank 0 after a failure: writes the rows that the other ranks have sent, and all rows if
/// there are no other ranks.
void Recorder::Impl::write_remaining() {
    const base::Stopwatch watch;
    while (pending_flush && !pending_flush->done() && watch.seconds() < kFailureWaitSeconds) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (!problem.empty()) return;
    if (pending_flush && pending_flush->done() && !flushed_records.empty())
        append(pending_flush->texts());
    flushed_records = std::move(records);
    if (world.size() == 1 && !flushed_records.empty()) append({packed});
}

/// Updates the progress. Returns rank 0's mean seconds per iteration since the last flush.
double Recorder::Impl::update_pace() {
    double seconds = 0;
    for (const algorithms::IterationRecord& record : records) {
        seconds += record.times[algorithms::Time::step] + record.times[algorithms::Time::profile];
        if (record.has_variance) progress.consensus_distance = record.consensus_distance;
    }
    seconds /= static_cast<double>(records.size());
    const algorithms::IterationRecord& last = records.back();
    progress.completed = last.iteration + 1;
    progress.epoch = last.epoch;
    progress.elapsed = clock.seconds();
    pace.add_progress(progress.completed, progress.elapsed);
    progress.seconds_left = pace.remaining();
    progress.seconds_per_iteration = seconds;
    progress.samples_per_second = seconds > 0 ? options.samples_per_iteration / seconds : 0;
    progress.tokens_per_second = seconds > 0 ? options.tokens_per_iteration / seconds : 0;
    return seconds;
}

void Recorder::Impl::add_event(int64_t iteration, const std::string& kind,
                               const std::string& text) {
    Table& events = file->events;
    last_event = std::max(last_event, iteration);
    events["iteration"].add(last_event);
    events["kind"].add(kind);
    events["text"].add(text);
    events["time"].add(options.clock.seconds());
}

/// Computes mean loss and accuracy of the last minibatch from all ranks' rows. Records an event if
/// losses are not finite for the first time.
void Recorder::Impl::update_scores(const std::vector<std::string>& all) {
    double loss = 0, accuracy = 0;
    for (int rank = 0; rank < placement.ranks; ++rank) {
        Unpacker unpacker(all[static_cast<size_t>(rank)], placement.count(rank), tensors);
        RankRow row{};
        for (const algorithms::IterationRecord& record : flushed_records) {
            row = unpacker.next(record.profiled, record.asynchronous);
            nonfinite.add(record.iteration, placement.begin(rank), row.loss);
        }
        for (const double value : row.loss) loss += value;
        for (const double value : row.accuracy) accuracy += value;
    }
    if (nonfinite.pending()) {
        const int64_t iteration = nonfinite.iteration();
        add_event(iteration, "nonfinite", nonfinite.report());
    }
    progress.loss = loss / static_cast<double>(placement.replicas);
    progress.accuracy = accuracy / static_cast<double>(placement.replicas);
}

void Recorder::Impl::close(const RunOutcome& outcome) {
    ended = true;
    if (file) file->close(outcome);
}

Recorder::Recorder(comm::World& world, comm::Placement placement, RecorderOptions options)
    : impl_(std::make_unique<Impl>(world, placement, std::move(options))) {
    impl_->create();
}

Recorder::~Recorder() {
    if (impl_ && !impl_->ended) fail("the run ended without reporting a result");
}

void Recorder::iteration_begins(int64_t t) {
    if (impl_->trace) impl_->trace->begin(t);
}

void Recorder::iteration_ended(int64_t t) {
    if (impl_->trace) impl_->trace->end(t);
}

void Recorder::iteration(const algorithms::IterationRecord& record) {
    Impl& m = *impl_;
    pack(record, m.local, m.tensors, m.packed);
    if (m.world.rank() == 0) {
        m.records.push_back(record);
        // The copy omits what `packed` holds.
        algorithms::IterationRecord& kept = m.records.back();
        kept.loss = kept.accuracy = kept.norm = kept.update_norm = kept.gradient_norm = {};
        kept.staleness = kept.replica_time = {};
    }
    ++m.waiting;
    const bool last = record.iteration + 1 == m.options.iterations;
    if (last) return m.drain();
    if (m.waiting >= m.interval) m.flush();
    if (m.pending_flush && m.pending_flush->done()) m.write();
}

void Recorder::note_progress() {
    if (impl_->world.rank() == 0 && impl_->options.alive) impl_->options.alive(impl_->progress);
}

void Recorder::evaluation(const algorithms::EvaluationRecord& record) {
    Impl& m = *impl_;
    if (m.world.rank() != 0) return;
    append_evaluation(*m.file, std::ssize(m.options.evaluated), record);
    m.progress.test_accuracy = record.test.mean_accuracy;
    m.progress.elapsed = m.clock.seconds();
    m.progress.done = record.iteration == m.options.iterations;
    m.pace.evaluated(record.seconds);
    try {
        m.file->commit();
    } catch (const base::RunError& error) {
        m.problem = error.what();  // The next flush reports it to the other ranks.
    }
    if (m.progress.done && m.options.progress) m.options.progress(m.progress);
}

std::string Recorder::flush_to_disk() {
    Impl& m = *impl_;
    m.drain();
    std::string obstacle;
    if (m.world.rank() == 0) {
        try {
            obstacle = m.file->flush_to_disk();
        } catch (const std::exception& error) {
            m.problem = error.what();
        }
    }
    m.world.agree(m.problem, false);
    m.world.broadcast(obstacle);
    return obstacle;
}

void Recorder::event(int64_t iteration, const std::string& kind, const std::string& text) {
    Impl& m = *impl_;
    if (m.world.rank() != 0) return;
    if (iteration == m.options.first - 1) {  // A start before this one may have recorded it.
        const auto same = [&](const auto& each) {
            return each.first == kind && each.second == text;
        };
        if (std::ranges::any_of(m.events_of_start, same)) return;
    }
    m.add_event(iteration, kind, text);
}

void Recorder::finish(const std::string& status, const std::string& error) {
    Impl& m = *impl_;
    m.drain();
    std::string problem;
    if (m.world.rank() == 0) {
        try {
            // A run that was stopped must end quickly; its last start computes the eigenvalues.
            const bool complete = status == "complete";
            m.close({status, error, complete ? m.graphs->rho(kRhoSeconds) : std::vector<double>()});
        } catch (const std::exception& failure) {
            problem = failure.what();
        }
    }
    m.ended = true;
    m.world.agree(problem, false);
}

void Recorder::fail(const std::string& error) noexcept {
    Impl& m = *impl_;
    if (m.ended) return;
    m.ended = true;
    if (m.world.rank() != 0 || !m.file) return;
    try {
        m.write_remaining();
    } catch (const std::exception& problem) {
        base::report_error(problem.what());
    }
    try {
        m.close({"failed", error, {}});
    } catch (const std::exception& problem) {
        base::report_error(problem.what());
    }
}

}  // namespace dbench::profile
