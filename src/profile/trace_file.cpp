#include "profile/trace_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/json.hpp"
#include "base/log.hpp"

namespace dbench::profile {
namespace {

namespace fs = std::filesystem;
using base::TraceEvent;

constexpr double kMicroseconds = 1e6;
/// Iterations after the last traced one in which exchanges that began in it may still end.
constexpr int64_t kLateIterations = 16;

std::string trace_base(const std::string& output) {
    constexpr std::string_view kEnding = ".h5";
    return output.ends_with(kEnding) ? output.substr(0, output.size() - kEnding.size()) : output;
}

std::string trace_line(const base::Json& event) {
    return event.dump(-1, ' ', false, base::Json::error_handler_t::replace) + ",\n";
}

std::string metadata(int rank, const char* name, const base::Json& args, int thread = 0) {
    return trace_line(
        {{"name", name}, {"ph", "M"}, {"pid", rank}, {"tid", thread}, {"args", args}});
}

/// Returns the complete lines of an earlier trace whose iterations are before `first`; with
/// `metadata` also lines that belong to no iteration.
std::string earlier_lines(const std::string& path, int64_t first, bool metadata) {
    std::ifstream file(path, std::ios::binary);
    std::string kept, line;
    constexpr std::string_view kKey = "\"iteration\":";
    while (std::getline(file, line)) {
        const size_t key = line.find(kKey);
        if (!line.ends_with("},")) continue;
        if (key == std::string::npos) {
            if (metadata) kept += line + "\n";
            continue;
        }
        if (std::atoll(line.c_str() + key + kKey.size()) < first) kept += line + "\n";
    }
    return kept;
}

/// Returns paths and ranks of the traces next to a result file.
std::vector<std::pair<std::string, int64_t>> traces_of(const std::string& output) {
    const fs::path file(output);
    const std::string begin = fs::path(trace_base(output)).filename().string() + ".trace-";
    const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
    std::vector<std::pair<std::string, int64_t>> traces;
    std::error_code ignored;
    for (const std::string& name : base::names_in(folder.string(), ignored)) {
        if (!base::is_numbered(name, begin, ".json")) continue;
        traces.emplace_back((folder / name).string(), std::atoll(name.c_str() + begin.size()));
    }
    return traces;
}

/// Appends a time in microseconds.
void add_time(std::string& line, const char* key, int64_t nanoseconds) {
    char text[64];
    std::snprintf(text, sizeof text, ",\"%s\":%.3f", key, static_cast<double>(nanoseconds) / 1000);
    line += text;
}

void add_argument(std::string& line, const char* key, int64_t value) {
    if (value < 0) return;
    if (line.back() != '{') line += ',';
    line += '"';
    line += key;
    line += "\":" + std::to_string(value);
}

/// `first`: the first iteration of this start. Each start counts messages from 0, so the numbers of
/// a resumed one get it as a prefix.
std::string event_line(const TraceEvent& event, int rank, const base::RunClock& clock,
                       int64_t first) {
    std::string line = "{\"name\":\"";
    // Both ends of a span are rounded, and not its length, so that spans still nest.
    const auto nanoseconds = [&](double time) -> int64_t {
        return std::llround(clock.at(time) * 1e9);
    };
    const auto begin = [&](const char* name, const char* category, const char* kind) {
        line += name;
        line += "\",\"cat\":\"";
        line += category;
        line += "\",\"ph\":\"";
        line += kind;
        line += '"';
    };
    switch (event.kind) {
        case TraceEvent::Kind::span: {
            const base::WorkName& work = base::kWorkNames[static_cast<size_t>(event.work)];
            begin(work.name, work.category, "X");
            add_time(line, "dur", nanoseconds(event.end) - nanoseconds(event.begin));
            break;
        }
        case TraceEvent::Kind::sent:
        case TraceEvent::Kind::received:
            begin("message", "exchange", event.kind == TraceEvent::Kind::sent ? "s" : "f");
            line += ",\"id\":" + (first == 0 ? std::to_string(event.message)
                                             : '"' + std::to_string(first) + '.' +
                                                   std::to_string(event.message) + '"');
            if (event.kind == TraceEvent::Kind::received) line += R"(,"bp":"e")";
            break;
        case TraceEvent::Kind::bucket_ready:
            begin("bucket ready", "compute", "i");
            line += R"(,"s":"t")";
            break;
    }
    add_time(line, "ts", nanoseconds(event.begin));
    line += ",\"pid\":" + std::to_string(rank) +
            ",\"tid\":" + std::to_string(static_cast<int>(event.thread)) + ",\"args\":{";
    add_argument(line, "iteration", event.iteration);
    add_argument(line, "replica", event.replica);
    add_argument(line, "bucket", event.bucket);
    add_argument(line, "peer", event.peer);
    add_argument(line, "bytes", event.bytes);
    return line + "}},\n";
}

}  // namespace

std::string trace_path(const std::string& output, int rank) {
    return trace_base(output) + ".trace-" + std::to_string(rank) + ".json";
}

void remove_traces(const std::string& output) {
    std::error_code ignored;
    for (const auto& [path, rank] : traces_of(output)) fs::remove(path, ignored);
}

void trim_traces(const std::string& output, int ranks, int64_t first) {
    for (const auto& [path, rank] : traces_of(output)) {
        if (rank < ranks) continue;
        const std::string kept = "[\n" + earlier_lines(path, first, true);
        std::error_code ignored;
        if (fs::file_size(path, ignored) == kept.size()) continue;
        try {
            base::replace_file("the trace", path, kept);
        } catch (const base::RunError& error) {
            base::warn(std::string(error.what()) + "; it keeps iterations that the run repeats");
        }
    }
}

TraceFile::TraceFile(const Options& options)
    : iterations_(options.iterations),
      rank_(options.rank),
      clock_(options.clock),
      first_(options.first) {
    const std::string path = trace_path(options.output, rank_);
    const std::string kept = options.first > 0 ? earlier_lines(path, options.first, false) : "";
    std::error_code ignored;
    const fs::path folder = fs::path(path).parent_path();
    if (!folder.empty()) fs::create_directories(folder, ignored);
    file_.emplace("the trace", path);
    base::take_trace();  // drops events of an earlier run of this process
    const std::string name = "rank " + std::to_string(rank_) + " (" + options.host + ")";
    const std::string text = "[\n" + metadata(rank_, "process_name", {{"name", name}}) +
                             metadata(rank_, "process_sort_index", {{"sort_index", rank_}}) +
                             metadata(rank_, "thread_name", {{"name", "program"}}) +
                             metadata(rank_, "thread_name", {{"name", "progress"}}, 1) +
                             metadata(rank_, "clock",
                                      {{"offset_us", clock_.offset * kMicroseconds},
                                       {"uncertainty_us", clock_.uncertainty * kMicroseconds}}) +
                             kept;
    file_->add(text.data(), text.size());
}

TraceFile::~TraceFile() {
    base::stop_tracing();
    write();
}

void TraceFile::begin(int64_t t) {
    if (file_ && t >= iterations_.begin && t < iterations_.end) base::trace_iteration(t);
}

void TraceFile::end(int64_t t) {
    // Nothing is added to iterations_.end, which may be the largest number.
    if (t < iterations_.begin || t - kLateIterations >= iterations_.end) return;
    if (t + 1 >= iterations_.end) base::stop_tracing();
    write();
}

// A trace that cannot be written does not end the run.
void TraceFile::write() {
    std::string text;
    for (const TraceEvent& event : base::take_trace()) {
        text += event_line(event, rank_, clock_, first_);
    }
    if (!file_ || text.empty()) return;
    try {
        file_->add(text.data(), text.size());
    } catch (const base::RunError& error) {
        base::warn(std::string(error.what()) + "; the run goes on without it");
        base::stop_tracing();
        file_.reset();
    }
}

}  // namespace dbench::profile
