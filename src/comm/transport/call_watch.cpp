#include "comm/transport/call_watch.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/transport/siblings.hpp"
#include "comm/wait.hpp"

namespace dbench::comm {
namespace {

void name_thread(int stage) { prctl(PR_SET_NAME, stage_thread(std::to_string(stage)).c_str()); }

/// Joins two phrases; either may be empty.
std::string joined_phrases(const std::string& a, const std::string& b) {
    return a.empty() || b.empty() ? a + b : a + "; " + b;
}

/// Names the ranks of this host that have not reached call `number`, and those that have.
std::string missing_ranks_text(int number) {
    std::map<int, std::string> missing;
    std::map<int, bool> come;
    for (const Sibling& each : siblings()) {
        const bool here = !each.stage.empty() && std::atoi(each.stage.c_str()) >= number;
        come[each.rank] |= here;
        const std::string process = " (process " + std::to_string(each.process) + ")";
        std::string& why = missing[each.rank];
        if (each.state == 'T') why = " is stopped" + process;
        if (each.state == 'Z' || each.state == 'X') why = " is dead" + process;
        if (why.empty()) why = " has not reached this call" + process;
    }
    std::string text;
    std::vector<int> there;
    for (const auto& [rank, why] : missing) {
        const bool stands = why.find("stopped") != why.npos;
        if (come[rank] && !stands) {
            there.push_back(rank);
        } else {
            text = joined_phrases(text, "rank " + std::to_string(rank) + why);
        }
    }
    const int absent = local_rank_count() - static_cast<int>(missing.size());
    if (absent > 0 && !missing.empty()) {
        text = joined_phrases(text, std::to_string(absent) + " ranks of this host have no process");
    }
    if (text.empty() && !there.empty()) text = "the missing ranks are on other hosts";
    return joined_phrases(text, there.empty() ? "" : to_text(there) + " of this host reached it");
}

}  // namespace

CallWatch::CallWatch(std::string what, double seconds)
    : what_(std::move(what)), seconds_(seconds), thread_([this] { watch(); }) {}

CallWatch::~CallWatch() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void CallWatch::next(const char* call) {
    {
        const std::lock_guard lock(mutex_);
        call_ = call;
        ++number_;
    }
    changed_.notify_all();
}

void CallWatch::watch() {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(std::min(seconds_, 1e9)));
    std::unique_lock lock(mutex_);
    for (int named = -1; !over_;) {
        if (named != number_) name_thread(named = number_);
        const bool late = changed_.wait_until(lock, end) == std::cv_status::timeout;
        if (late && !over_) give_up();
    }
}

void CallWatch::give_up() const {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    std::string missing;
    try {
        missing = missing_ranks_text(number_);
    } catch (const std::exception&) {  // the system does not show the processes
    }
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%g s", seconds_);
    base::report_error(what_ + " stalled on " + host + " (" + call_ + " did not return within " +
                       seconds + (missing.empty() ? "" : "; " + missing) +
                       "): look at that rank's log and node; DBENCH_TIMEOUT sets the limit");
    _exit(base::kExitFailed);
}

}  // namespace dbench::comm
