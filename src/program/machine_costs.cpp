#include "program/machine_costs.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "algorithms/step/timers.hpp"
#include "arena/kernels.hpp"
#include "base/build_info.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/world/link_speed.hpp"
#include "program/provenance.hpp"

namespace dbench::program {

using base::Json;

namespace {

constexpr int64_t kWarmUp = 3, kFewest = 20, kMost = 2000;  // iterations
constexpr int kMostRanksOfAllPairs = 64;      // for measurements of every pair of ranks
constexpr double kAssumedDevicePass = 1e-12;  // seconds per byte: a GPU's memory

// Changes to a spec after which its ranks compute without waiting for each other.
std::vector<std::string> settings_without_exchange(int64_t batch) {
    std::vector<std::string> settings{R"(/algorithm={"type": "local_sgd", "period": 1000000000})",
                                      "/graph=ring",
                                      "/message=float32",
                                      "/delays=[]",
                                      R"(/length={"iterations": 1000000})",
                                      "/schedule=constant",
                                      "/placement=linear",
                                      R"(/profile={"norms": false, "variance": {"kind": "off"}})",
                                      R"(/checkpoint={"every": null})"};
    if (batch > 0) settings.push_back("/data/batch_size=" + std::to_string(batch));
    return settings;
}

double sum_of(comm::World& world, double value) {
    std::vector<double> all{value};
    world.sum(all);
    return all[0];
}

std::string time_text(double seconds) {
    char text[40];
    std::snprintf(text, sizeof text, "%.3g ms", 1e3 * seconds);
    return text;
}

// The costs of iterations on this rank.
struct RankCosts {
    std::vector<double> compute, update;
    std::vector<predict::Bucket> buckets;  // of one replica
};

RankCosts rank_costs(const train::StepMeasurement& measured, const PreparedRun& run) {
    RankCosts costs;
    for (const algorithms::Times& times : measured.times) {
        const double update = times[algorithms::Time::update];
        costs.update.push_back(update);
        costs.compute.push_back(std::max(0.0, times[algorithms::Time::step] - update));
    }
    const double element = static_cast<double>(arena::size_of(run.session->type()));
    const bool host = run.device->is_host();
    double all = 0, before = 0;
    for (const auto& bucket : measured.buckets) {
        all += static_cast<double>(run.session->layout().numel_in(bucket.columns));
    }
    for (const auto& bucket : measured.buckets) {
        const auto numel = static_cast<double>(run.session->layout().numel_in(bucket.columns));
        before += numel;
        // Without a measurement, forward takes a third of the step.
        costs.buckets.push_back(
            {numel * element, host ? std::min(1.0, bucket.share) : 1 / 3. + 2 / 3. * before / all});
    }
    return costs;
}

// Measures as many iterations as fit into `seconds`, equally many on all ranks.
RankCosts measure_iterations(comm::World& world, const PreparedRun& run, double seconds) {
    // A rank may fail alone, for example at a damaged photograph: the others must hear of it.
    double seen = 0;
    run_on_all_ranks(world, [&] {
        const base::Stopwatch watch;
        run.session->measure_steps(kWarmUp);
        seen = watch.seconds();
    });
    const double each = sum_of(world, seen) / world.size() / kWarmUp;
    const auto count =
        std::clamp(static_cast<int64_t>(seconds / std::max(1e-9, each)), kFewest, kMost);
    if (world.rank() == 0) {
        base::notice("measuring " + std::to_string(count) + " iterations of about " +
                     time_text(each));
    }
    world.barrier();
    RankCosts costs;
    run_on_all_ranks(world, [&] { costs = rank_costs(run.session->measure_steps(count), run); });
    return costs;
}

// Returns the seconds per byte of a weighted sum of three rows, while all ranks compute one.
double measure_memory(comm::World& world, double row_bytes) {
    constexpr int64_t kLeast = int64_t{1} << 18;  // columns
    constexpr int kTries = 9;
    const auto columns =
        std::max(kLeast, static_cast<int64_t>(row_bytes / sizeof(float)) / 16 * 16);
    arena::Buffer sources(arena::DType::float32, 0, 3, columns);
    arena::Buffer target(arena::DType::float32, 0, 1, columns);
    const arena::Rows rows = sources.rows();
    const std::vector<std::vector<arena::Term>> terms{
        {{rows.at(0, 0), 0.5}, {rows.at(1, 0), 0.25}, {rows.at(2, 0), 0.25}}};
    std::vector<double> tries;
    for (int k = 0; k < kTries; ++k) {
        world.barrier();
        const base::Stopwatch watch;
        arena::weighted_means(terms, target.rows(), {0, columns});
        tries.push_back(watch.seconds());
    }
    std::sort(tries.begin(), tries.end());
    const double bytes = 4.0 * static_cast<double>(columns) * sizeof(float);
    return sum_of(world, tries[kTries / 2] / bytes) / world.size();
}

// Returns the first rank other than 0 that is on host 0, or is not, or -1.
int partner(const std::vector<std::string>& hosts, bool same_host) {
    for (size_t rank = 1; rank < hosts.size(); ++rank) {
        if ((hosts[rank] == hosts[0]) == same_host) return static_cast<int>(rank);
    }
    return -1;
}

// Median over the pairs of ranks on the same host, or on different ones.
double median_of_pairs(const graphs::Links& links, const std::vector<double>& values,
                       const std::vector<std::string>& hosts, bool same_host) {
    std::vector<double> chosen;
    for (int from = 0; from < links.slots; ++from) {
        for (int to = 0; to < links.slots; ++to) {
            const bool same = hosts[static_cast<size_t>(from)] == hosts[static_cast<size_t>(to)];
            if (from != to && same == same_host) chosen.push_back(values[links.at(from, to)]);
        }
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen.empty() ? 0 : chosen[chosen.size() / 2];
}

void measure_links(comm::World& world, predict::Calibration& c) {
    const std::vector<std::string> hosts = world.all_gather(world.host());
    c.hosts = hosts;
    if (world.size() == 1) return;
    if (world.rank() == 0) base::notice("measuring links");
    std::optional<graphs::Links> pairs;
    if (world.size() <= kMostRanksOfAllPairs) {
        pairs = comm::measure_links(world);
    } else {
        c.assumptions.push_back("Latencies were not measured, because there are more than " +
                                std::to_string(kMostRanksOfAllPairs) + " ranks.");
    }
    const auto measure = [&](bool same_host, predict::Link& link, double& one_way) {
        const int other = partner(hosts, same_host);
        if (other < 0) return false;
        const comm::LinkSpeed speed = comm::measure_link(world, 0, other);
        one_way = speed.one_way;
        link.bandwidth = std::min(speed.one_way, speed.both_ways / 2);
        link.latency = same_host ? 2e-6 : 50e-6;
        if (pairs && world.rank() == 0) {
            link.latency = median_of_pairs(*pairs, pairs->latency, hosts, same_host);
        }
        return true;
    };
    c.has_local = measure(true, c.local, c.local_one_way);
    c.has_remote = measure(false, c.remote, c.remote_one_way);
    if (!c.has_remote) return;
    c.uplink = c.remote.bandwidth;
    if (pairs && world.rank() == 0) {
        // All ranks of a host were measured at the same time.
        const double each = median_of_pairs(*pairs, pairs->bandwidth, hosts, false);
        c.uplink = std::max(c.uplink, each * c.ranks_per_host());
    }
    if (c.ranks_per_host() == 1) {
        c.assumptions.push_back(
            "The uplink of a host is not faster than one link, because the calibration had one "
            "rank per host.");
    }
}

// Joins the costs of all ranks on rank 0.
void gather_costs(comm::World& world, const RankCosts& mine, predict::Calibration& c) {
    const Json sent = {{"compute", mine.compute}, {"update", mine.update}};
    std::vector<double> compute, update;
    for (const std::string& text : world.gather(sent.dump())) {
        const Json each = Json::parse(text);
        for (const Json& value : each.at("compute")) compute.push_back(value.get<double>());
        for (const Json& value : each.at("update")) update.push_back(value.get<double>());
    }
    c.buckets = mine.buckets;
    if (world.rank() != 0) return;
    c.samples = static_cast<int64_t>(compute.size());
    c.compute = predict::Distribution::of_samples(std::move(compute));
    std::sort(update.begin(), update.end());
    c.update = update[update.size() / 2];
}

}  // namespace

predict::Subject subject_of(const PreparedRun& run, int threads) {
    const base::BuildInfo& build = base::build_info();
    const train::Session& session = *run.session;
    Json model = run.spec.resolved.at("model");
    model["parameters"] = session.layout().numel();
    Json digests = Json::array();
    for (const base::InputDigest& each : session.model_digests()) digests.push_back(each.digest);
    if (!digests.empty()) model["digests"] = digests;
    const Json& resolved = run.spec.resolved;
    model["optimizer"] = resolved.at("optimizer").at("type");
    model["data"] = resolved.at("data").at("type");
    model["batch"] = static_cast<double>(session.plan().samples_per_iteration) /
                     static_cast<double>(run.placement.replicas);
    return {cpu_model(),
            static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)),
            run.device->name(),
            threads,
            model,
            resolved.at("precision").get<std::string>() + ", compute " +
                resolved.at("compute").get<std::string>(),
            std::string(build.version) + " (" + build.commit +
                (build.dirty ? ", with local changes)" : ")")};
}

predict::Calibration measure_costs(comm::World& world, const RunArguments& arguments,
                                   double seconds, int64_t batch) {
    RunArguments alone = arguments;
    alone.output.clear();
    for (const std::string& each : settings_without_exchange(batch)) {
        alone.settings.push_back(each);
    }
    predict::Calibration c;
    measure_links(world, c);
    PreparedRun run = prepare_run(world, read_specs(world, alone).front());
    const auto estimates = run.session->estimate();
    const MemoryNeed need{estimates.memory_bytes, run.device.get()};
    run_on_all_ranks(
        world, [&] { run.session->prepare(); }, need);
    run.session->choose_stacking();
    c.replicas_per_rank = static_cast<double>(run.placement.count(0));
    const std::string rows = run.session->rows_on_host();
    c.in_place = run.device->is_host() && (rows.empty() || rows.starts_with("in place"));
    gather_costs(world, measure_iterations(world, run, seconds), c);
    if (run.device->is_host()) {
        c.seconds_per_byte = measure_memory(world, run.session->row_bytes());
    } else {
        c.seconds_per_byte = kAssumedDevicePass;
        c.assumptions.push_back(
            "Forward takes a third of the compute step, and buckets become ready in proportion to "
            "their elements: on a GPU this is not measured.");
        c.assumptions.push_back("A pass over rows moves 1 TB/s: on a GPU this is not measured.");
    }
    return c;
}

}  // namespace dbench::program
