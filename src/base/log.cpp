#include "base/log.hpp"

#include <unistd.h>

#include <atomic>
#include <mutex>
#include <optional>

namespace dbench::base {
namespace {

std::atomic<int> log_rank{0};
std::atomic<bool> log_quiet{false};

std::mutex kept_mutex;
std::optional<std::vector<std::string>> kept_warnings;  // empty: warnings are not kept

// Leaves out the middle of a text that nobody would read, such as a name of a million letters.
std::string bounded(const std::string& text) {
    constexpr size_t kFirst = 6000, kLast = 2000;
    if (text.size() <= kFirst + kLast) return text;
    return text.substr(0, kFirst) + " ... (" + std::to_string(text.size() - kFirst - kLast) +
           " characters left out) ... " + text.substr(text.size() - kLast);
}

// One write call per line, so that lines of several ranks do not interleave.
void line(const char* kind, const std::string& text) {
    std::string out = "dbench";
    if (log_rank > 0) out += " [rank " + std::to_string(log_rank) + "]";
    out += std::string(kind) + bounded(text) + "\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, out.data(), out.size());
}

}  // namespace

void set_log_identity(int rank, bool quiet) {
    log_rank = rank;
    log_quiet = quiet;
}

void set_log_rank(int rank) { log_rank = rank; }

void notice(const std::string& text) {
    if (!log_quiet) line(": ", text);
}
void warn(const std::string& text) {
    line(": warning: ", text);
    const std::lock_guard lock(kept_mutex);
    if (kept_warnings && log_rank == 0) kept_warnings->push_back(text);
}
void report_error(const std::string& text) { line(": error: ", text); }

KeptWarnings::KeptWarnings() {
    const std::lock_guard lock(kept_mutex);
    kept_warnings.emplace();
}

KeptWarnings::~KeptWarnings() {
    const std::lock_guard lock(kept_mutex);
    kept_warnings.reset();
}

std::vector<std::string> KeptWarnings::texts() const {
    const std::lock_guard lock(kept_mutex);
    return *kept_warnings;
}

}  // namespace dbench::base
