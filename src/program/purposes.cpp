#include "program/purposes.hpp"

#include <sched.h>

#include <nlohmann/json.hpp>

namespace dbench::program {
namespace {

int cores() {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

bool is_reproducible(const PreparedRun& s) {
    const std::string kind = s.spec.resolved.at("reduction").get<std::string>();
    return kind == "reproducible" || (kind == "auto" && s.device->is_host());
}

std::vector<Hindrance> hindrances_of_times(const PreparedRun& s, const comm::Placement& placement,
                                           int local_ranks) {
    std::vector<Hindrance> found;
    if (is_reproducible(s)) {
        found.push_back({"reproducible reductions", "/reduction", "set /reduction to \"library\""});
    }
    if (placement.replicas > placement.ranks) {
        const std::string ranks =
            placement.ranks == 1 ? "1 rank" : std::to_string(placement.ranks) + " ranks";
        found.push_back({std::to_string(placement.replicas) + " replicas on " + ranks, "ranks",
                         "start one rank per replica"});
    }
    if (const int here = cores(); s.device->is_host() && here > 0 && local_ranks > here) {
        found.push_back({"more ranks than cores (" + std::to_string(local_ranks) + " ranks on " +
                             std::to_string(here) + " cores)",
                         "ranks", "start at most one rank per core"});
    }
    if (const int sharing = s.device->ranks_per_gpu(); sharing > 1) {
        found.push_back({std::to_string(sharing) + " ranks on one GPU", "/share_gpus",
                         "start at most one rank per GPU"});
    }
    return found;
}

}  // namespace

const std::vector<std::string>& purposes() {
    static const std::vector<std::string> all = {"time", "accuracy", "bytes"};
    return all;
}

std::vector<Hindrance> hindrances(const std::string& purpose, const PreparedRun& s,
                                  const comm::Placement& placement, int local_ranks) {
    if (purpose == "time") return hindrances_of_times(s, placement, local_ranks);
    if (purpose == "accuracy" && !s.session->classifies()) {
        return {{"the data has real targets, and the run measures losses only", "/data",
                 "compare losses, or choose /data with labels"}};
    }
    return {};
}

std::string purpose_text(const std::vector<Hindrance>& found) {
    std::string text;
    for (const Hindrance& each : found) {
        text += (text.empty() ? "no: " : "; ") + each.reason + " (" + each.remedy + ")";
    }
    return text.empty() ? "yes" : text;
}

base::Json to_json(const std::vector<Hindrance>& found) {
    base::Json all = base::Json::array();
    for (const Hindrance& each : found) {
        all.push_back({{"reason", each.reason}, {"key", each.key}, {"remedy", each.remedy}});
    }
    return all;
}

}  // namespace dbench::program
