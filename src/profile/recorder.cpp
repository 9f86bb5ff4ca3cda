#include "profile/recorder.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
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
    const base::Json mine = {world.host(), options.device, world.local_rank(), options.cpus};
    std::vector<RankInfo> ranks;
    for (const std::string& text : world.gather(as_text(mine))) {
        const base::Json rank = base::Json::parse(text);
        ranks.push_back({rank[0], rank[1], rank[2], rank[3]});
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
          pace(options.iterations, options.evaluate_every) {}

    RunHead head() const;
    void create();
    void log_graphs_again(const Earlier& earlier);
    void flush();
    void write_flush(const std::vector<std::string>& packed);
    int64_t next_interval(double seconds_per_iteration) const;
    double note_progress(const std::vector<std::string>& packed);
    void close(const Ending& ending);

    comm::World& world;
    const comm::Placement placement;
    const RecorderOptions options;
    const int64_t local, tensors;  ///< R and T
    const base::Stopwatch clock;

    std::string packed;    ///< rows since the last flush
    int64_t waiting = 0;   ///< their number
    int64_t interval = 1;  ///< iterations between flushes, agreed

    // Rank 0.
    std::vector<RankInfo> ranks;
    std::unique_ptr<RunFile> file;
    std::unique_ptr<GraphLog> graphs;
    std::vector<algorithms::IterationRecord> records;  ///< since the last flush
    Progress progress;
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
    head.features = {options.norms, options.variance, options.after, options.validation};
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
    if (wanted >= static_cast<double>(most)) return std::max<int64_t>(1, most);
    return std::max<int64_t>(1, static_cast<int64_t>(wanted));
}

// Rank 0's answer ends the flush on all: the next interval, or why the file cannot be written.
void Recorder::Impl::flush() {
    const std::vector<std::string> all = world.gather(packed);
    base::Json answer = {interval, problem};
    if (world.rank() == 0 && problem.empty() && !records.empty()) {
        try {
            append_rows(*file, *graphs, placement, tensors, records, all);
            file->commit();
            answer[0] = next_interval(note_progress(all));
        } catch (const std::exception& error) {
            answer[1] = problem = error.what();
        }
    }
    packed.clear();
    records.clear();
    waiting = 0;
    std::string text = as_text(answer);
    world.broadcast(text);
    answer = base::Json::parse(text);
    interval = answer[0];
    if (const std::string reason = answer[1]; !reason.empty()) throw base::RunError(reason);
    if (world.rank() == 0 && options.progress && !progress.done) options.progress(progress);
}

/// Returns rank 0's mean seconds per iteration since the last flush.
double Recorder::Impl::note_progress(const std::vector<std::string>& all) {
    double seconds = 0;
    for (const algorithms::IterationRecord& record : records) {
        seconds += record.times[algorithms::Time::step] + record.times[algorithms::Time::profile];
        if (record.has_variance) progress.consensus_distance = record.consensus_distance;
    }
    seconds /= static_cast<double>(records.size());
    const algorithms::IterationRecord& last = records.back();
    double loss = 0, accuracy = 0;
    for (int rank = 0; rank < placement.ranks; ++rank) {
        Unpacker unpacker(all[static_cast<size_t>(rank)], placement.count(rank), tensors);
        RankRow row{};
        for (const algorithms::IterationRecord& record : records)
            row = unpacker.next(record.profiled);
        for (const double value : row.loss) loss += value;
        for (const double value : row.accuracy) accuracy += value;
    }
    progress.loss = loss / static_cast<double>(placement.replicas);
    progress.accuracy = accuracy / static_cast<double>(placement.replicas);
    progress.completed = last.iteration + 1;
    progress.epoch = last.epoch;
    progress.elapsed = clock.seconds();
    pace.reached(progress.completed, progress.elapsed);
    progress.seconds_left = pace.left();
    progress.seconds_per_iteration = seconds;
    progress.samples_per_second = seconds > 0 ? options.samples_per_iteration / seconds : 0;
    return seconds;
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
    }
    ++m.waiting;
    if (m.waiting >= m.interval || record.iteration + 1 == m.options.iterations) m.flush();
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
    m.flush();
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
    m.flush();
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
        if (m.world.size() == 1 && !m.records.empty()) {
            append_rows(*m.file, *m.graphs, m.placement, m.tensors, m.records, {m.packed});
        }
        m.close({"failed", error, {}});
    } catch (const std::exception& problem) {
        base::report_error(problem.what());
    }
}

}  // namespace dbench::profile
