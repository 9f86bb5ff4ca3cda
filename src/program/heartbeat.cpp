#include "program/heartbeat.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/log.hpp"

namespace dbench::program {

using base::Json;

namespace {

constexpr double kInterval = 10;  // seconds
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Json or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace

Heartbeat::Heartbeat(const std::string& output, const std::string& host, profile::Progress start)
    : path_(output + ".heartbeat"), host_(host), start_(base::now()) {
    write("starting", start);
}

Heartbeat::~Heartbeat() { std::remove(path_.c_str()); }

void Heartbeat::beat(const profile::Progress& p) {
    if (base::now() < next_) return;
    // Early numbers change quickly, so a young run rewrites the file more often.
    next_ = base::now() + std::clamp(p.elapsed, 1.0, kInterval);
    write("training", p);
}

void Heartbeat::write(const char* state, const profile::Progress& p) {
    const char* job = std::getenv("SLURM_JOB_ID");
    const Json json{
        {"state", state},
        {"iteration", p.completed},
        {"iterations", p.iterations},
        {"eta_seconds", or_null(p.seconds_left)},
        {"samples_per_second", or_null(p.elapsed > 0 ? p.samples_per_second : kNan)},
        {"tokens_per_second", or_null(p.tokens_per_second > 0 ? p.tokens_per_second : kNan)},
        {"loss", or_null(p.loss)},
        {"job", job ? job : ""},
        {"host", host_},
        {"pid", getpid()},
        {"seconds", base::now() - start_},
        {"updated", base::iso_time()}};
    try {
        base::replace_file("the heartbeat", path_,
                           json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
    } catch (const base::RunError& error) {  // a missing heartbeat must not stop the run
        if (!std::exchange(failed_, true)) {
            base::warn(std::string(error.what()) +
                       " (the run goes on, and its result is not affected)");
        }
    }
}

}  // namespace dbench::program
