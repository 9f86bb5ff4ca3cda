#include "profile/recorder.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "comm/world/collection.hpp"
#include "profile/earlier.hpp"
#include "profile/graph_log.hpp"
#include "profile/pace.hpp"
#include "profile/packing.hpp"
#include "profile/run_file.hpp"
#include "profile/run_rows.hpp"

namespace dbench::profile {
namespace {

constexpr double kFlushSeconds = 1;
constexpr int64_t kGrowth = 8, kMostIterations = 1 << 16;  // of the interval between flushes
constexpr int64_t kMostBytes = 32 << 20;                   // of all ranks in a flush
constexpr double kRhoSeconds = 20;                         // for eigenvalues at the end
constexpr double kLastSeconds = 0.5;                       // for rows on their way at a failure

std::vector<int64_t> evaluated_replicas(int64_t n, int64_t m) {
    std::vector<int64_t> replicas;
    for (int64_t j = 0; j < m; ++j) replicas.push_back(j * n / m);
    return replicas;
}

/// File names need not be UTF-8.
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
          interval(options.apart),
          pace(options.iterations, options.evaluate_every) {}

    RunHead head() const;
    void create();
    void log_graphs_again(const Earlier& earlier);
    void flush();
    void land();
    void drain();
    void write();
    void append(const std::vector<std::string>& packed);
    void rescue();
    int64_t next_interval(double seconds_per_iteration) const;
    double note_pace();
    void note_scores(const std::vector<std::string>& packed);
    void close(const Ending& ending);

    comm::World& world;
    const comm::Placement placement;
    const RecorderOptions options;
    const int64_t local, tensors;  ///< R and T
    const base::Stopwatch clock;

    std::string packed;   ///< rows since the last flush
    int64_t waiting = 0;  ///< their number
    int64_t interval;     ///< iterations between flushes, agreed
    /// The last flush: its rows, on their way to rank 0, whose answer tells the next interval, or
    /// why the file cannot be written.
    std::unique_ptr<comm::Collection> flight;

    // Rank 0.
    std::vector<RankInfo> ranks;
    std::unique_ptr<RunFile> file;
    std::unique_ptr<GraphLog> graphs;
    std::vector<algorithms::IterationRecord> records;  ///< since the last flush
    std::vector<algorithms::IterationRecord> flying;   ///< of the last flush, to be written
    Progress progress;                                 ///< as of the last flush
    Pace pace;
    std::string problem;  ///< why the file cannot be written any more
    bool ended = false;
};

RunHead Recorder::Impl::head() const {
    RunHead head;
    head.path = options.path;
    head.overwrite = options.overwrite;
    head.name = options.name;
    head.spec = options.spec;
    head.provenance = options.provenance;
    head.certificate = options.certificate;
    head.stability = options.stability;
    head.tensors = options.tensors;
    head.precision = options.precision;
    head.ranks = ranks;
    for (int rank = 0; rank < placement.ranks; ++rank) {
        head.first_replica.push_back(placement.begin(rank));
    }
    head.evaluated = evaluated_replicas(placement.replicas, options.evaluated);
    head.axes = {placement.replicas, placement.ranks, tensors, options.evaluated};
    head.features = {options.norms,      options.variance,     options.after,
                     options.validation, options.asynchronous, options.metrics};
    head.planned = options.iterations;
    head.every = options.every;
    head.variance_every = options.variance_every;
    head.seconds_per_iteration = options.seconds_per_iteration;
    return head;
}

void Recorder::Impl::create() {
    ranks = gather_ranks(world, options);
    std::string problem;
    bool user = false;
    if (world.rank() == 0) {
        try {
            graphs = std::make_unique<GraphLog>(options.schedule, options.certificate,
                                                options.certified, options.graphs);
            const auto earlier = options.first > 0
                                     ? std::optional(read_earlier(options.path, options.first))
                                     : std::nullopt;
            RunHead begin = head();
            if (earlier) begin.earlier = &*earlier;
            begin.axes.ranks = std::max(begin.axes.ranks, earlier ? earlier->ranks : 0);
            file = std::make_unique<RunFile>(begin);
            if (earlier) log_graphs_again(*earlier);
        } catch (const base::UserError& error) {
            problem = error.what();
            user = true;
        } catch (const std::exception& error) {
            problem = error.what();
        }
    }
    world.agree(problem, user);
    progress.iterations = options.iterations;
    progress.first = progress.completed = options.first;
}

// The rows of /graphs follow from the schedule and from when it was used.
void Recorder::Impl::log_graphs_again(const Earlier& earlier) {
    if (!options.schedule || earlier.replicas != placement.replicas) return;
    for (int64_t t = 0; t < earlier.first; ++t) {
        if (earlier.rounds[static_cast<size_t>(t)] > 0) graphs->row(options.schedule->at(t), *file);
    }
}

int64_t Recorder::Impl::next_interval(double seconds) const {
    const double wanted = kFlushSeconds / std::max(seconds, 1e-9);
    const int64_t row = packed_size(placement.replicas, tensors, options.norms) +
                        packed_size(0, 0, false) * placement.ranks;
    const int64_t most = std::min({interval * kGrowth, kMostIterations, kMostBytes / row});
    const double next = std::min(wanted, static_cast<double>(most));
    return std::max(options.apart, static_cast<int64_t>(next));
}

// Nobody waits for a rank that is not a whole interval late: rows leave at one flush, and what
// rank 0 answers is taken at the next.
void Recorder::Impl::flush() {
    land();
    base::Json answer = {interval, problem};
    if (!records.empty()) answer[0] = next_interval(note_pace());
    flying = std::exchange(records, {});
    flight = std::make_unique<comm::Collection>(
        world, "the gathering of measurements", std::exchange(packed, {}),
        [text = as_text(answer)](const std::vector<std::string>&) { return text; });
    waiting = 0;
}

/// The end of the last flush, at the same iteration on all ranks.
void Recorder::Impl::land() {
    if (!flight) return;
    write();
    const base::Json answer = base::Json::parse(flight->answer());
    flight.reset();
    interval = answer[0];
    if (const std::string reason = answer[1]; !reason.empty()) throw base::RunError(reason);
}

/// Waits until all rows are in the file, or all ranks know why not.
void Recorder::Impl::drain() {
    if (waiting > 0) flush();
    land();
    world.agree(problem, false);
}

/// On rank 0: the rows of the last flush go to the file.
void Recorder::Impl::write() {
    if (flying.empty()) return;
    const std::vector<std::string>& all = flight->texts();
    if (problem.empty()) {
        try {
            append(all);
        } catch (const std::exception& error) {
            problem = error.what();  // the others hear of it in the answer to the next flush
        }
    }
    flying.clear();
    if (problem.empty() && options.progress && !progress.done) options.progress(progress);
}

void Recorder::Impl::append(const std::vector<std::string>& all) {
    append_rows(*file, *graphs, placement, tensors, flying, all);
    file->commit();
    note_scores(all);
}

/// Rank 0 after a failure: writes what the others have sent, and all that it has where it is alone.
void Recorder::Impl::rescue() {
    const base::Stopwatch watch;
    while (flight && !flight->done() && watch.seconds() < kLastSeconds) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (!problem.empty()) return;
    if (flight && flight->done() && !flying.empty()) append(flight->texts());
    flying = std::move(records);
    if (world.size() == 1 && !flying.empty()) append({packed});
}

/// Returns rank 0's mean seconds per iteration since the last flush.
double Recorder::Impl::note_pace() {
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
    pace.reached(progress.completed, progress.elapsed);
    progress.seconds_left = pace.left();
    progress.seconds_per_iteration = seconds;
    progress.samples_per_second = seconds > 0 ? options.samples_per_iteration / seconds : 0;
    progress.tokens_per_second = seconds > 0 ? options.tokens_per_iteration / seconds : 0;
    return seconds;
}

/// Of the last minibatch, which all ranks' rows tell.
void Recorder::Impl::note_scores(const std::vector<std::string>& all) {
    double loss = 0, accuracy = 0;
    for (int rank = 0; rank < placement.ranks; ++rank) {
        Unpacker unpacker(all[static_cast<size_t>(rank)], placement.count(rank), tensors);
        RankRow row{};
        for (const algorithms::IterationRecord& record : flying)
            row = unpacker.next(record.profiled, record.asynchronous);
        for (const double value : row.loss) loss += value;
        for (const double value : row.accuracy) accuracy += value;
    }
    progress.loss = loss / static_cast<double>(placement.replicas);
    progress.accuracy = accuracy / static_cast<double>(placement.replicas);
}

void Recorder::Impl::close(const Ending& ending) {
    ended = true;
    if (file) file->close(ending);
}

Recorder::Recorder(comm::World& world, comm::Placement placement, RecorderOptions options)
    : impl_(std::make_unique<Impl>(world, placement, std::move(options))) {
    impl_->create();
}

Recorder::~Recorder() {
    if (impl_ && !impl_->ended) fail("the run ended without a word");
}

void Recorder::iteration(const algorithms::IterationRecord& record) {
    Impl& m = *impl_;
    pack(record, m.local, m.tensors, m.packed);
    if (m.world.rank() == 0) {
        m.records.push_back(record);
        algorithms::IterationRecord& kept = m.records.back();  // without what is packed
        kept.loss = kept.accuracy = kept.norm = kept.update_norm = kept.gradient_norm = {};
        kept.staleness = kept.replica_time = {};
    }
    ++m.waiting;
    const bool last = record.iteration + 1 == m.options.iterations;
    if (last) return m.drain();
    if (m.waiting >= m.interval) m.flush();
    if (m.flight && m.flight->done()) m.write();
}

void Recorder::evaluation(const algorithms::EvaluationRecord& record) {
    Impl& m = *impl_;
    if (m.world.rank() != 0) return;
    append_evaluation(*m.file, m.options.evaluated, record);
    m.progress.test_accuracy = record.test.mean_accuracy;
    m.progress.elapsed = m.clock.seconds();
    m.progress.done = record.iteration == m.options.iterations;
    m.pace.evaluated(record.seconds);
    try {
        m.file->commit();
    } catch (const base::RunError& error) {
        m.problem = error.what();  // the others hear of it at the next flush
    }
    if (m.progress.done && m.options.progress) m.options.progress(m.progress);
}

void Recorder::settle() {
    Impl& m = *impl_;
    m.drain();
    std::string problem;
    if (m.world.rank() == 0) {
        try {
            problem = m.file->settle();
        } catch (const std::exception& error) {
            problem = m.problem = error.what();
        }
    }
    m.world.agree(problem, false);
}

void Recorder::event(int64_t iteration, const std::string& kind, const std::string& text) {
    Impl& m = *impl_;
    if (m.world.rank() != 0) return;
    Table& events = m.file->events;
    events["iteration"].add(iteration);
    events["kind"].add(kind);
    events["text"].add(text);
    events["time"].add(m.options.clock.seconds());
}

void Recorder::finish(const std::string& status, const std::string& error) {
    Impl& m = *impl_;
    m.drain();
    std::string problem;
    if (m.world.rank() == 0) {
        try {
            m.close({status, error, m.graphs->rho(kRhoSeconds)});
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
        m.rescue();
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
