#include "bench/heartbeat.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "bench/progress.hpp"

namespace dbench::bench {

using base::Json;

namespace {

constexpr double kInterval = 10;  // seconds

Json or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace

Heartbeat::Heartbeat(const std::string& output, const std::string& host)
    : path_(output + ".heartbeat"), host_(host), start_(base::now()) {
    write({{"state", "starting"}});
}

Heartbeat::~Heartbeat() { std::remove(path_.c_str()); }

void Heartbeat::beat(const profile::Progress& p) {
    if (base::now() < next_) return;
    next_ = base::now() + std::clamp(p.elapsed, 1.0, kInterval);  // early ones say little
    write({{"state", "training"},
           {"iteration", p.completed},
           {"iterations", p.iterations},
           {"eta_seconds", or_null(seconds_left(p))},
           {"samples_per_second", or_null(p.samples_per_second)},
           {"loss", or_null(p.loss)}});
}

void Heartbeat::write(Json json) {
    const char* job = std::getenv("SLURM_JOB_ID");
    json["job"] = job ? job : "";
    json["host"] = host_;
    json["pid"] = getpid();
    json["seconds"] = base::now() - start_;
    json["updated"] = base::iso_time();
    const std::string partial = path_ + ".partial";
    std::ofstream file(partial, std::ios::trunc);
    file << json.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
    file.close();
    std::error_code ignored;
    if (file) {
        std::filesystem::rename(partial, path_, ignored);
    } else {
        std::filesystem::remove(partial, ignored);
    }
}

}  // namespace dbench::bench
