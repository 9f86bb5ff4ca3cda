#include "program/purposes.hpp"

#include <sched.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "arena/messages/element_codec.hpp"
#include "base/framing.hpp"

namespace dbench::program {
namespace {

bool sends_16_bits(const PreparedRun& s) {
    return s.spec.run.message.rows != arena::ElementCodec::identity;
}

// On GPUs, "auto" chooses the library's sums unless the library cannot add the rows. A single rank
// adds none.
bool is_reproducible(const PreparedRun& s, const comm::Placement& placement) {
    const std::string kind = s.spec.resolved.at("reduction").get<std::string>();
    if (kind != "auto") return kind == "reproducible";
    return s.device->is_host() || (sends_16_bits(s) && placement.ranks > 1);
}

std::vector<Hindrance> hindrances_of_times(const PreparedRun& s, const comm::Placement& placement,
                                           const LocalRanks& local) {
    std::vector<Hindrance> found;
    if (is_reproducible(s, placement)) {
        const bool coded = sends_16_bits(s);  // The library cannot add such rows.
        found.push_back({"reproducible reductions", coded ? "/message" : "/reduction",
                         coded ? "set /message to \"float32\" and /reduction to \"library\""
                               : "set /reduction to \"library\""});
    }
    if (placement.replicas > placement.ranks) {
        const std::string ranks =
            placement.ranks == 1 ? "1 rank" : std::to_string(placement.ranks) + " ranks";
        found.push_back({std::to_string(placement.replicas) + " replicas on " + ranks, "ranks",
                         "start one rank per replica"});
    }
    if (s.device->is_host() && local.cores > 0 && local.ranks > local.cores) {
        found.push_back({"more ranks than cores (" + std::to_string(local.ranks) + " ranks on " +
                             std::to_string(local.cores) + " cores)",
                         "ranks", "start at most one rank per core"});
    }
    if (const int sharing = s.device->ranks_per_gpu(); sharing > 1) {
        found.push_back({std::to_string(sharing) + " ranks on one GPU", "/share_gpus",
                         "start at most one rank per GPU"});
    }
    return found;
}

}  // namespace

LocalRanks local_ranks(comm::World& world) {
    cpu_set_t all;
    CPU_ZERO(&all);
    if (sched_getaffinity(0, sizeof all, &all) != 0) CPU_ZERO(&all);
    const std::string own(reinterpret_cast<const char*>(&all), sizeof all);
    for (const std::string& rank : world.gather(base::join_texts({world.host(), own}))) {
        const std::vector<std::string> parts = base::split_texts(rank);
        if (parts[0] != world.host()) continue;
        cpu_set_t set;
        std::memcpy(&set, parts[1].data(), sizeof set);
        CPU_OR(&all, &all, &set);
    }
    return {world.local_size(), CPU_COUNT(&all)};
}

const std::vector<std::string>& purposes() {
    static const std::vector<std::string> all = {"time", "accuracy", "bytes"};
    return all;
}

std::vector<Hindrance> hindrances(const std::string& purpose, const PreparedRun& s,
                                  const comm::Placement& placement, const LocalRanks& local) {
    if (purpose == "time") return hindrances_of_times(s, placement, local);
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
