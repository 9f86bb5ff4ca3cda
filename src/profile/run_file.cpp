#include "profile/run_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iterator>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "profile/earlier_run.hpp"
#include "profile/output_path.hpp"

namespace dbench::profile {
namespace {

constexpr size_t kStatusBytes = 16, kTimeBytes = 32, kErrorBytes = 1024;
constexpr double kChunkSeconds = 2, kDefaultIterationSeconds = 0.05;
constexpr double kCheckInterval = 1;  // Between checks of what other processes did to the file.
// More attributes would be moved out of the object's header.
constexpr int kCompactAttributes = 64;
constexpr int64_t kMissingRows = 1024;  // without values, between two commits

/// Ignores SIGXFSZ: exceeding a file-size limit then fails the write instead of killing the
/// process.
void ignore_size_signal() {
    struct sigaction now {};
    if (sigaction(SIGXFSZ, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
        std::signal(SIGXFSZ, SIG_IGN);
    }
}

std::string cannot_write(const std::string& path, const std::string& problem) {
    return "the output " + path + " cannot be written any more: " + problem;
}

h5::Group make_group(hid_t file, const char* name) {
    return {H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "make a group"};
}

Chunking chunking(const RunHead& head, int64_t every) {
    const double seconds =
        head.seconds_per_iteration > 0 ? head.seconds_per_iteration : kDefaultIterationSeconds;
    every = std::max<int64_t>(every, 1);
    return {kChunkSeconds / seconds / static_cast<double>(every),
            (std::max<int64_t>(head.iterations, 1) + every - 1) / every, true};
}

/// For groups with few rows at irregular times: plain chunks, rewritten in place.
constexpr Chunking kFew{8, 1 << 20, false};
constexpr Chunking kEdges{1024, 1 << 20, true};

}  // namespace

RunFile::RunFile(const RunHead& head) : precision(head.precision) {
    h5::prepare();
    ignore_size_signal();
    OutputPath output(head.path, head.overwrite || head.earlier, head.earlier != nullptr);
    path_ = output.final_path();
    try {
        create(head, output.temporary());
    } catch (const DamagedRows& error) {
        abandon();
        throw base::UserError("the result file " + head.path +
                              ", which the run should continue, is damaged (" + error.what() +
                              "): restore a copy, or start again with --overwrite");
    } catch (const h5::Error& error) {
        abandon();
        throw base::UserError("the output " + head.path + " cannot be written (" + error.what() +
                              "): choose another /output or --output");
    }
    output.publish();
}

RunFile::~RunFile() {
    if (broken_) abandon();
    close_handles();
}

void RunFile::create(const RunHead& head, const std::string& temporary) {
    const h5::Properties properties(H5Pcreate(H5P_FILE_CREATE), "prepare the file");
    h5::check(H5Pset_attr_phase_change(properties, kCompactAttributes, 0), "prepare the file");
    file_ = h5::File(H5Fcreate(temporary.c_str(), H5F_ACC_EXCL, properties, h5::file_access()),
                     "create it");
    guard_ = FileGuard(temporary);
    guard_.reserve(
        static_cast<int64_t>(head.spec.size() + head.provenance.size() + head.prediction.size()));
    write_head(head);
    h5::check(H5Fstart_swmr_write(file_), "open it for readers");
    // From here on only rows are added.
    if (head.earlier)
        copy_earlier_rows(*head.earlier, head.earlier->replicas != head.axes.replicas);
    if (graph_offset.rows() == 0) graph_offset["offset"].add(int64_t{0});
    segments["started"].add(base::iso_time());
    segments["host"].add(head.ranks.front().host);
    segments["ranks"].add(static_cast<int64_t>(head.ranks.size()));
    const char* job = std::getenv("SLURM_JOB_ID");
    segments["job"].add(std::string(job ? job : ""));
    segments["first_iteration"].add(head.earlier ? head.earlier->first : 0);
    segments["last_iteration"].add(int64_t{-1});
    segments["reason"].add(std::string());
    std::string problem = write_due(Commit::all);
    // A file that is replaced may hold all that is left of a run.
    if (problem.empty()) problem = guard_.sync();
    if (!problem.empty()) throw h5::Error(problem);
}

void RunFile::write_head(const RunHead& head) {
    h5::write_attribute(file_, "schema", kSchema);
    h5::write_attribute(file_, "schema_version", kSchemaVersion);
    h5::write_attribute(file_, "status", "running", kStatusBytes);
    h5::write_attribute(file_, "name", head.name);
    h5::write_attribute(file_, "replicas", head.axes.replicas);
    h5::write_attribute(file_, "ranks", static_cast<int64_t>(head.ranks.size()));
    h5::write_attribute(file_, "started", head.earlier ? head.earlier->started : base::iso_time(),
                        kTimeBytes);
    h5::write_attribute(file_, "finished", "", kTimeBytes);
    h5::write_attribute(file_, "error", "", kErrorBytes);
    write_text(file_, "spec", head.spec, "the resolved spec, JSON");
    write_text(file_, "provenance", head.provenance,
               "versions, build, environment, data and command, JSON");
    if (!head.prediction.empty()) {
        write_text(file_, "prediction", head.prediction,
                   "step times that dbench predict expects, JSON");
    }

    write_tensors(head.tensors);
    write_ranks(head);
    make_tables(head);
}

void RunFile::write_tensors(const std::vector<arena::Tensor>& tensors) {
    std::vector<std::string> names, kinds;
    std::vector<int64_t> numel;
    for (const arena::Tensor& tensor : tensors) {
        names.push_back(tensor.name);
        numel.push_back(tensor.numel);
        kinds.emplace_back(arena::to_string(tensor.kind));
    }
    const h5::Group group = make_group(file_, "tensors");
    const auto columns = tensor_columns();
    write_texts(group, columns[0], names);
    write_integers(group, columns[1], numel);
    write_texts(group, columns[2], kinds);
}

void RunFile::write_ranks(const RunHead& head) {
    std::vector<std::string> hosts, devices;
    std::vector<int64_t> local_ranks, cpus, slots;
    for (const RankInfo& rank : head.ranks) {
        hosts.push_back(rank.host);
        local_ranks.push_back(rank.local_rank);
        devices.push_back(rank.device);
        cpus.push_back(rank.cpus);
        slots.push_back(rank.slot);
    }
    const h5::Group group = make_group(file_, "ranks");
    const auto columns = rank_columns();
    write_texts(group, columns[0], hosts);
    write_integers(group, columns[1], local_ranks);
    write_texts(group, columns[2], devices);
    write_integers(group, columns[3], cpus);
    write_integers(group, columns[4], head.first_replica);
    write_integers(group, columns[5], slots);
}

void RunFile::make_tables(const RunHead& head) {
    const h5::Group iteration_group = make_group(file_, "iterations"),
                    parameter_group = make_group(file_, "parameters"),
                    evaluation_group = make_group(file_, "evaluations"),
                    graph_group = make_group(file_, "graphs"),
                    segment_group = make_group(file_, "segments"),
                    event_group = make_group(file_, "events");
    const auto table = [&](const h5::Group& group, const std::vector<ColumnSpec>& columns,
                           const Chunking& chunks) {
        return Table(group, columns, head.axes, head.precision, chunks);
    };
    iterations = table(iteration_group, iteration_columns(head.features), chunking(head, 1));
    h5::write_attribute(iteration_group, "planned", head.iterations);
    parameters = table(parameter_group, profile_columns(head.features), chunking(head, head.every));
    variance = table(parameter_group, variance_columns(head.features),
                     chunking(head, head.variance_every));
    evaluations = table(evaluation_group, evaluation_columns(head.features), kFew);
    write_integers(evaluation_group, evaluated_replica_column(), head.evaluated);
    edges = table(graph_group, edge_columns(), kEdges);
    graphs = table(graph_group, graph_columns(), kFew);
    graph_offset = table(graph_group, {graph_offset_column()}, kFew);
    h5::write_attribute(graph_group, "certificate", head.certificate);
    h5::write_attribute(graph_group, "certificate_of", head.certificate_of);
    h5::write_attribute(graph_group, "stability", head.stability);
    segments = table(segment_group, segment_columns(), kFew);
    events = table(event_group, event_columns(), kFew);
}

std::vector<Table*> RunFile::tables() {
    // Tables to which others refer are written first.
    return {&edges,       &graphs,     &graph_offset, &segments,  &events,
            &evaluations, &parameters, &variance,     &iterations};
}

/// Writes the columns that are due. Returns why something could not be written; "" if all was.
/// Throws h5::Error if HDF5 failed.
std::string RunFile::write_due(Commit what) {
    const double now = base::now();
    std::string problem;
    bool any = false;
    for (Table* table : tables()) {
        const bool burst = what == Commit::due && table == &edges;  // Edges come in bursts.
        for (Column& column : table->columns()) {
            try {
                any |= column.commit(now, burst ? Commit::all : what, guard_);
            } catch (const NoSpace& error) {
                problem = error.what();
            }
        }
    }
    if (any) h5::check(H5Fflush(file_, H5F_SCOPE_LOCAL), "flush it");
    size_ = guard_.size();
    return problem;
}

/// Copies the earlier rows. If the number of replicas has changed, the values of single replicas
/// and the matrices are unknown to this run and are written as missing. Otherwise the earlier
/// matrices are copied: this run's schedule may have other ones, if the data have changed.
void RunFile::copy_earlier_rows(const EarlierRun& earlier, bool other_replicas) {
    const h5::File from = open_for_reading(earlier.path);
    const auto copy = [&](Table& table, const std::string& group, int64_t rows) {
        for (Column& column : table.columns()) {
            const auto commit = [&] { column.commit(base::now(), Commit::due, guard_); };
            if (other_replicas && (column.of_replicas() || column.name() == "graph")) {
                for (int64_t k = 0; k < rows; ++k) {
                    column.of_replicas() ? column.add_missing() : column.add(int64_t{-1});
                    if (k % kMissingRows == kMissingRows - 1) commit();
                }
                continue;
            }
            if (&table == &segments && column.name() == "last_iteration") {
                // A checkpoint may be older than the ends of several starts.
                for (int64_t k = 0; k < rows; ++k) {
                    const int64_t end = earlier.segment_ends[static_cast<size_t>(k)];
                    column.add(std::min(end, earlier.first - 1));
                }
                continue;
            }
            copy_rows(from, group, rows, column, commit);
        }
    };
    copy(iterations, "iterations", earlier.first);
    copy(parameters, "parameters", earlier.profiled);
    copy(variance, "parameters", earlier.variance);
    copy(evaluations, "evaluations", earlier.evaluations);
    copy(events, "events", earlier.events);
    copy(segments, "segments", earlier.segments - 1);
    if (!other_replicas && !earlier.matrices.empty()) {
        const int64_t matrices = std::ssize(earlier.matrices);
        copy(edges, "graphs", earlier.matrices.back().end);
        copy(graphs, "graphs", matrices);
        copy(graph_offset, "graphs", matrices + 1);
    }
    const EarlierRun::Segment& last = earlier.last;
    segments["started"].add(last.started);
    segments["host"].add(last.host);
    segments["ranks"].add(last.ranks);
    segments["job"].add(last.job);
    segments["first_iteration"].add(last.first_iteration);
    segments["last_iteration"].add(earlier.first - 1);
    segments["reason"].add(last.reason.empty() ? "killed" : last.reason);
}

void RunFile::commit() { commit(Commit::due); }

std::string RunFile::flush_to_disk() {
    commit(Commit::all);
    if (const std::string failure = guard_.sync(); !failure.empty()) {
        throw base::RunError(cannot_write(path_, failure));
    }
    const std::string problem = guard_.path_problem(path_);
    return problem.empty() ? "" : "the output " + path_ + " " + problem;
}

/// Checks what other processes did to the file since the last flush: warns at once, and remembers
/// it for the end. A truncation can only be noticed before the next write, which extends the file
/// again.
void RunFile::check_external_changes() {
    if (const int64_t size = guard_.size(); size < size_) {
        truncation_ = "was cut from " + std::to_string(size_) + " to " + std::to_string(size) +
                      " bytes while it was being written: rows until iteration " +
                      std::to_string(iterations.rows() - 1) +
                      " are lost, and later rows cannot be read without them (start the run again)";
        base::warn("the output " + path_ + " " + truncation_);
    }
    if (base::now() < next_check_) return;
    next_check_ = base::now() + kCheckInterval;
    std::string problem = guard_.path_problem(path_);
    if (!problem.empty() && problem != path_problem_) {
        base::warn("the output " + path_ + " " + problem);
    }
    path_problem_ = std::move(problem);
}

void RunFile::commit(Commit what) {
    if (broken_) return;  // an earlier commit has reported the failure
    std::string problem;
    check_external_changes();
    try {
        problem = write_due(what);
    } catch (const h5::Error& error) {
        broken_ = true;
        problem = error.what();
    }
    if (!problem.empty()) throw base::RunError(cannot_write(path_, problem));
}

void RunFile::close(const RunOutcome& outcome) {
    const int64_t last_iteration = iterations.rows() - 1, segment = segments.rows() - 1;
    std::string problem;
    next_check_ = 0;
    check_external_changes();
    try {
        if (!broken_) problem = write_due(Commit::last);
        if (!broken_ && !close_handles()) h5::fail("close it");
    } catch (const h5::Error& error) {
        broken_ = true;
        problem = error.what();
    }
    if (broken_) abandon();
    try {
        write_outcome(guard_.name(path_), outcome, segment, last_iteration);
    } catch (const h5::Error& error) {
        if (problem.empty()) problem = error.what();
    }
    guard_.release_reserve();
    if (!problem.empty()) problem = cannot_write(path_, problem);
    for (const std::string& loss : {truncation_, path_problem_}) {
        if (!loss.empty()) problem = "the output " + path_ + " " + loss;
    }
    if (!problem.empty()) throw base::RunError(problem);
}

bool RunFile::close_handles() {
    for (Table* table : tables()) table->close();
    return file_.close();
}

/// After a failed write HDF5 cannot close the file any more, and would damage it by trying. The
/// disk holds what readers saw last. So HDF5's descriptor is redirected to /dev/null, and its
/// handles are left open until the process ends.
void RunFile::abandon() {
    void* descriptor = nullptr;
    if (file_.is_open() && H5Fget_vfd_handle(file_, H5P_DEFAULT, &descriptor) >= 0 && descriptor) {
        const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
        if (nowhere >= 0) {
            dup3(nowhere, *static_cast<int*>(descriptor), O_CLOEXEC);
            ::close(nowhere);
        }
    }
    for (Table* table : tables()) {
        for (Column& column : table->columns()) column.abandon();
        table->close();
    }
    file_.abandon();
}

}  // namespace dbench::profile
