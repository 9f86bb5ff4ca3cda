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

// Replicas that send to the next one: a rank reads as many rows as it sends.
constexpr const char* kGraphOfOrders = "one_way_ring";

// Changes to a spec after which it has this algorithm and graph, and nothing but iterations.
std::vector<std::string> settings_of(const std::string& algorithm, const std::string& graph,
                                     int64_t batch) {
    std::vector<std::string> settings{"/algorithm=" + algorithm,
                                      "/graph=" + graph,
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
train::StepMeasurement measure_iterations(comm::World& world, const PreparedRun& run,
                                          double seconds, const std::string& kind) {
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
        base::notice("measuring " + std::to_string(count) + " iterations " + kind + " of about " +
                     time_text(each));
    }
    world.barrier();
    train::StepMeasurement measured;
    run_on_all_ranks(world, [&] { measured = run.session->measure_steps(count); });
    return measured;
}

// Prepares the spec of `arguments` with the changes of `settings`. Collective. Throws UserError on
// all ranks.
PreparedRun prepare(comm::World& world, RunArguments arguments,
                    const std::vector<std::string>& settings) {
    arguments.output.clear();
    arguments.settings.insert(arguments.settings.end(), settings.begin(), settings.end());
    PreparedRun run = prepare_run(world, read_specs(world, arguments).front());
    const MemoryNeed need{run.session->estimate().memory_bytes, run.device.get()};
    run_on_all_ranks(
        world, [&] { run.session->prepare(); }, need);
    run.session->choose_stacking();
    return run;
}

// Returns the values of all ranks on rank 0, and nothing on the others.
std::vector<double> gathered(comm::World& world, const std::vector<double>& mine) {
    std::vector<double> all;
    for (const std::string& text : world.gather(Json(mine).dump())) {
        for (const Json& value : Json::parse(text)) all.push_back(value.get<double>());
    }
    return all;
}

double median_of_ranks(comm::World& world, std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return sum_of(world, values[values.size() / 2]) / world.size();
}

// Returns the times of iterations in the order combine_while_adapt as exchanges, on rank 0, if
// messages decided how long the iterations took: they show how links vary while ranks compute.
// `bytes` are those that a host sends in an iteration.
predict::Exchange exchange_if_link_bound(comm::World& world,
                                         const std::vector<algorithms::Times>& times,
                                         double bytes) {
    constexpr double kLeastWaiting = 0.1;  // of the step, on every rank
    std::vector<double> steps, waiting;
    for (const algorithms::Times& each : times) {
        steps.push_back(each[algorithms::Time::step]);
        waiting.push_back(each[algorithms::Time::wait] / steps.back());
    }
    std::sort(waiting.begin(), waiting.end());
    const std::vector<double> medians = gathered(world, {waiting[waiting.size() / 2]});
    const std::vector<double> all = gathered(world, steps);
    const bool bound =
        !medians.empty() && *std::min_element(medians.begin(), medians.end()) >= kLeastWaiting;
    if (!bound) return {};
    return {bytes, predict::Distribution::of_samples(all)};
}

// Measures the update and the weighted sums of dsgd in one order, on a graph in which every replica
// reads one row, and on rank 0 by how much messages prolong the compute step of `c`. Throws
// UserError on all ranks, for example if there is not enough memory.
predict::OrderCosts measure_order(comm::World& world, const RunArguments& arguments,
                                  predict::Order order, const std::string& name, double seconds,
                                  int64_t batch, const predict::Calibration& c) {
    const PreparedRun run = prepare(
        world, arguments,
        settings_of(R"({"type": "dsgd", "order": ")" + name + R"("})", kGraphOfOrders, batch));
    const train::StepMeasurement measured =
        measure_iterations(world, run, seconds, "in the order " + name);
    std::vector<double> update, mixing, compute;
    for (const algorithms::Times& times : measured.times) {
        using algorithms::Time;
        update.push_back(times[Time::update]);
        mixing.push_back(times[Time::exchange] - times[Time::wait]);
        compute.push_back(times[Time::step] - times[Time::update] - times[Time::exchange]);
    }
    const predict::Rounds rounds = predict::plan_rounds(*run.session->schedule(), run.placement, 1);
    const double row = run.session->row_bytes();
    const double read = rounds.at(0).rows_read[static_cast<size_t>(world.rank())] * row;
    const double own = static_cast<double>(run.placement.count(world.rank())) * row;
    predict::OrderCosts costs;
    predict::Passes& passes = costs.passes;
    passes.update = median_of_ranks(world, update);
    passes.seconds_per_byte = sum_of(world, c.seconds_per_byte) / world.size();
    if (order == predict::Order::combine_while_adapt) {  // the update reads the other rows, too
        passes.update = std::max(0.0, passes.update - read * passes.seconds_per_byte);
    } else {
        passes.seconds_per_byte = median_of_ranks(world, mixing) / (read + 2 * own);
    }
    std::vector<int> host;  // of each rank: the first rank on the same host
    for (const std::string& name : c.hosts) {
        host.push_back(
            static_cast<int>(std::find(c.hosts.begin(), c.hosts.end(), name) - c.hosts.begin()));
    }
    costs.sent = rounds.at(0).rows_in_messages(world.rank(), host, c.in_place) * row;
    costs.sent = sum_of(world, costs.sent) / world.size();
    const std::vector<double> all = gathered(world, compute);
    if (world.rank() == 0) costs.compute = predict::Distribution::of_samples(all);
    if (costs.sent > 0) {
        passes.compute_per_byte =
            std::max(0.0, costs.compute.at(0.5) - c.compute.at(0.5)) / costs.sent;
    }
    if (order == predict::Order::combine_while_adapt && c.has_remote) {
        int crossing = 0;  // rows from the first host to others
        for (size_t rank = 0; rank < c.hosts.size(); ++rank) {
            const std::string& next = c.hosts[(rank + 1) % c.hosts.size()];
            crossing += c.hosts[rank] == c.hosts[0] && next != c.hosts[0];
        }
        costs.exchange = exchange_if_link_bound(world, measured.times, crossing * row);
    }
    return costs;
}

// Returns the seconds per byte of a weighted sum of three rows, while all ranks compute one. Throws
// UserError on all ranks if one of them has too little memory.
double measure_memory(comm::World& world, double row_bytes) {
    constexpr int64_t kLeast = int64_t{1} << 18;  // columns
    constexpr int kTries = 9;
    const auto columns =
        std::max(kLeast, static_cast<int64_t>(row_bytes / sizeof(float)) / 16 * 16);
    std::optional<arena::Buffer> sources, target;
    run_on_all_ranks(world,
                     [&] {
                         sources.emplace(arena::DType::float32, 0, 3, columns);
                         target.emplace(arena::DType::float32, 0, 1, columns);
                     },
                     {.bytes = 4 * columns * static_cast<int64_t>(sizeof(float))});
    const arena::Rows rows = sources->rows();
    const std::vector<std::vector<arena::Term>> terms{
        {{rows.at(0, 0), 0.5}, {rows.at(1, 0), 0.25}, {rows.at(2, 0), 0.25}}};
    std::vector<double> tries;
    for (int k = 0; k < kTries; ++k) {
        world.barrier();
        const base::Stopwatch watch;
        arena::weighted_means(terms, target->rows(), {0, columns});
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

// Measures how long the hosts take to exchange rows of the model, one after another. The times go
// to rank 0. Throws UserError on all ranks if one of them has too little memory.
void measure_variation(comm::World& world, double row_bytes, double seconds,
                       predict::Calibration& c) {
    const int shift = c.ranks_per_host();
    const auto ranks = static_cast<int>(c.hosts.size());
    for (int rank = 0; rank < ranks; ++rank) {
        const auto from = static_cast<size_t>(rank),
                   to = static_cast<size_t>((rank + shift) % ranks);
        if (c.hosts[from] == c.hosts[to]) return;  // hosts with different numbers of ranks
    }
    if (world.rank() == 0) base::notice("measuring how links vary");
    const auto bytes = static_cast<int64_t>(row_bytes);
    std::vector<char> out, in;
    run_on_all_ranks(world,
                     [&] {
                         out.resize(static_cast<size_t>(bytes));
                         in.resize(static_cast<size_t>(bytes));
                     },
                     {.bytes = 2 * bytes});
    const std::vector<double> all = gathered(
        world, comm::measure_exchanges(world, out, in, {shift, seconds, kFewest / 2, kMost}));
    if (world.rank() == 0) {
        c.exchange = {row_bytes * shift, predict::Distribution::of_samples(all)};
    }
}

// Joins the costs of all ranks on rank 0.
void gather_costs(comm::World& world, const RankCosts& mine, predict::Calibration& c) {
    std::vector<double> compute = gathered(world, mine.compute);
    std::vector<double> update = gathered(world, mine.update);
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
    predict::Calibration c;
    measure_links(world, c);
    std::optional<PreparedRun> alone =
        prepare(world, arguments,
                settings_of(R"({"type": "local_sgd", "period": 1000000000})", "ring", batch));
    PreparedRun& run = *alone;
    c.replicas_per_rank = static_cast<double>(run.placement.count(0));
    const std::string rows = run.session->rows_on_host();
    c.in_place = run.device->is_host() && (rows.empty() || rows.starts_with("in place"));
    if (c.has_remote) measure_variation(world, run.session->row_bytes(), seconds / 2, c);
    const bool orders = run.device->is_host() && run.placement.replicas > 1;
    const double each = orders ? seconds / 2 : seconds;
    gather_costs(world, rank_costs(measure_iterations(world, run, each, "without exchange"), run),
                 c);
    if (run.device->is_host()) {
        c.seconds_per_byte = measure_memory(world, run.session->row_bytes());
        alone.reset();
        for (const auto& [order, name] : predict::kMeasuredOrders) {
            if (!orders) break;
            try {
                c.orders[order] = measure_order(world, arguments, order, name, each / 2, batch, c);
            } catch (const base::UserError& error) {
                c.assumptions.push_back(std::string("The order ") + name + " was not measured (" +
                                        error.what() + ").");
            }
        }
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
