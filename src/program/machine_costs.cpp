#include "program/machine_costs.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "algorithms/step/timers.hpp"
#include "arena/kernels.hpp"
#include "base/build_info.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "predict/rounds.hpp"
#include "program/abort_job.hpp"
#include "program/link_costs.hpp"
#include "program/provenance.hpp"
#include "program/rank_values.hpp"

namespace dbench::program {

using base::Json;

namespace {

constexpr int64_t kWarmUp = 3, kFewest = 20, kMost = 2000;  // iterations

constexpr double kAssumedDevicePass = 1e-12;  // seconds per byte: a GPU's memory

// Returns changes that give a spec this algorithm and graph, and switch off everything except
// iterations.
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

// Measures `count` iterations. A rank may fail alone, for example at a damaged photograph, while
// others wait for its rows: the job then ends on all ranks.
train::StepMeasurement measure_or_abort(comm::World& world, const PreparedRun& run, int64_t count) {
    try {
        return run.session->measure_steps(count);
    } catch (const std::exception& error) {
        const bool memory = is_out_of_memory(error);
        abort_job(world, memory ? memory_message(error) : base::reason_of(error),
                  memory || is_user_error(error));
    }
}

// Measures as many iterations as fit into `seconds`, equally many on all ranks.
train::StepMeasurement measure_iterations(comm::World& world, const PreparedRun& run,
                                          double seconds, const std::string& kind) {
    const base::Stopwatch watch;
    measure_or_abort(world, run, kWarmUp);
    const double each = mean_over_ranks(world, watch.seconds()) / kWarmUp;
    const auto count =
        std::clamp(static_cast<int64_t>(seconds / std::max(1e-9, each)), kFewest, kMost);
    if (world.rank() == 0) {
        base::notice("measuring " + std::to_string(count) + " iterations " + kind + " of about " +
                     time_text(each));
    }
    world.barrier();
    return measure_or_abort(world, run, count);
}

// Prepares the spec of `arguments` with the changes of `settings`. Collective. Throws UserError on
// all ranks.
PreparedRun prepare(comm::World& world, RunArguments arguments,
                    const std::vector<std::string>& settings) {
    arguments.output.clear();
    arguments.settings.insert(arguments.settings.end(), settings.begin(), settings.end());
    // Notices of keys that the settings replace concern nobody: the user has not set them.
    base::set_log_identity(world.rank(), true);
    const Spec spec = read_specs(world, arguments).front();
    base::set_log_identity(world.rank(), arguments.quiet);
    PreparedRun run = prepare_run(world, spec);
    const MemoryNeed need{run.session->estimate().memory_bytes, run.device.get()};
    run_on_all_ranks(
        world, [&] { run.session->prepare(); }, need);
    run.session->choose_stacking();
    return run;
}

double median_of_ranks(comm::World& world, std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return mean_over_ranks(world, values[values.size() / 2]);
}

// Returns the times of iterations as exchanges, on rank 0, if messages decided how long the
// iterations took: they show how links vary while ranks compute. `bytes` are those that a host
// sends in an iteration. The last iteration does not count, because in the order
// combine_while_adapt it sends nothing for a next one.
predict::Exchange exchange_if_link_bound(comm::World& world,
                                         const std::vector<algorithms::Times>& times,
                                         double bytes) {
    constexpr double kLeastWaiting = 0.1;  // of the step, on every rank
    std::vector<double> steps, waiting;
    for (const algorithms::Times& each : std::span(times).first(times.size() - 1)) {
        steps.push_back(each[algorithms::Time::step]);
        waiting.push_back(each[algorithms::Time::wait] / steps.back());
    }
    std::sort(waiting.begin(), waiting.end());
    const std::vector<double> medians = gather_values(world, {waiting[waiting.size() / 2]});
    const std::vector<double> all = gather_values(world, steps);
    const bool bound =
        !medians.empty() && *std::min_element(medians.begin(), medians.end()) >= kLeastWaiting;
    if (!bound) return {};
    return {bytes, predict::Distribution::of_samples(all)};
}

// Iterations of dsgd in one order on one graph.
struct OrderTimes {
    std::vector<algorithms::Times> times;  // of this rank
    predict::Distribution compute;         // seconds without update and exchange; on rank 0
    // Bytes in an iteration: a row, all rows of this rank, and the rows that it reads.
    double row = 0, own = 0, read = 0;
    double sent = 0;  // bytes in messages, the mean over ranks
};

// Measures iterations of dsgd in the order of this name. Throws UserError on all ranks, for example
// if there is not enough memory.
OrderTimes time_order(comm::World& world, const RunArguments& arguments, const std::string& name,
                      const char* graph, double seconds, int64_t batch,
                      const predict::Calibration& c) {
    const PreparedRun run =
        prepare(world, arguments,
                settings_of(R"({"type": "dsgd", "order": ")" + name + R"("})", graph, batch));
    OrderTimes found;
    found.times =
        measure_iterations(world, run, seconds, "in the order " + name + " on the graph " + graph)
            .times;
    std::vector<double> compute;
    for (const algorithms::Times& times : found.times) {
        using algorithms::Time;
        compute.push_back(times[Time::step] - times[Time::update] - times[Time::exchange]);
    }
    const std::vector<double> all = gather_values(world, compute);
    if (world.rank() == 0) found.compute = predict::Distribution::of_samples(all);
    std::vector<int> host;  // of each rank: the first rank on the same host
    for (const std::string& each : c.hosts) {
        host.push_back(
            static_cast<int>(std::find(c.hosts.begin(), c.hosts.end(), each) - c.hosts.begin()));
    }
    const predict::Rounds rounds = predict::plan_rounds(*run.session->schedule(), run.placement, 1);
    found.row = run.session->row_bytes();
    found.own = static_cast<double>(run.placement.count(world.rank())) * found.row;
    found.read = rounds.at(0).rows_read[static_cast<size_t>(world.rank())] * found.row;
    found.sent = mean_over_ranks(
        world, rounds.at(0).rows_in_messages(world.rank(), host, c.in_place) * found.row);
    return found;
}

// Adds to `costs` by how much these iterations' messages prolong the compute step of `c`.
void add_prolongation(const OrderTimes& measured, const predict::Calibration& c,
                      predict::OrderCosts& costs) {
    if (measured.sent == 0) return;
    costs.row_costs.prolongation.measured[measured.sent] =
        measured.compute.at(0.5) - c.compute.at(0.5);
}

// Measures the compute step while ranks send several rows, if a rank sends messages. Two replicas
// have a single row to send. Throws UserError on all ranks.
void measure_several_rows(comm::World& world, const RunArguments& arguments,
                          const std::string& name, double seconds, int64_t batch,
                          const predict::Calibration& c, predict::OrderCosts& costs) {
    if (costs.sent == 0 || c.replicas_per_rank * world.size() <= 2) return;
    add_prolongation(
        time_order(world, arguments, name, predict::kGraphOfSeveralRows, seconds, batch, c), c,
        costs);
}

// Measures the update and the weighted sums of dsgd in one order, on a graph in which every replica
// reads one row, and on rank 0 by how much messages prolong the compute step of `c`. Throws
// UserError on all ranks, for example if there is not enough memory.
predict::OrderCosts measure_order(comm::World& world, const RunArguments& arguments,
                                  predict::Order order, const std::string& name, double seconds,
                                  int64_t batch, const predict::Calibration& c) {
    const OrderTimes one =
        time_order(world, arguments, name, predict::kGraphOfOrders, seconds, batch, c);
    std::vector<double> update, mixing;
    for (const algorithms::Times& times : one.times) {
        using algorithms::Time;
        update.push_back(times[Time::update]);
        mixing.push_back(times[Time::exchange] - times[Time::wait]);
    }
    predict::OrderCosts costs;
    predict::RowCosts& row_costs = costs.row_costs;
    row_costs.update = median_of_ranks(world, update);
    row_costs.seconds_per_byte = mean_over_ranks(world, c.seconds_per_byte);
    if (order == predict::Order::combine_while_adapt) {  // the update reads the other rows, too
        row_costs.update = std::max(0.0, row_costs.update - one.read * row_costs.seconds_per_byte);
    } else {
        row_costs.seconds_per_byte = median_of_ranks(world, mixing) / (one.read + 2 * one.own);
    }
    costs.sent = one.sent;
    costs.compute = one.compute;
    add_prolongation(one, c, costs);
    if (c.has_remote) {
        int crossing = 0;  // rows from the first host to others
        for (size_t rank = 0; rank < c.hosts.size(); ++rank) {
            const std::string& next = c.hosts[(rank + 1) % c.hosts.size()];
            crossing += c.hosts[rank] == c.hosts[0] && next != c.hosts[0];
        }
        costs.exchange = exchange_if_link_bound(world, one.times, crossing * one.row);
    }
    return costs;
}

// Measures iterations in the order combine_while_adapt, in most of which a host exchanges a row
// with another host than before. Sets `changing` of `costs`, the order's costs, on rank 0. Does
// nothing unless messages decide how long iterations take, each host has one replica,
// and the number of hosts is even and at least four: otherwise hosts would send different numbers
// of rows. Collective. Throws UserError on all ranks.
void measure_changing(comm::World& world, const RunArguments& arguments, double seconds,
                      int64_t batch, const predict::Calibration& c, predict::OrderCosts& costs) {
    const int hosts = world.size();
    if (c.ranks_per_host() > 1 || hosts < 4 || hosts % 2 == 1) return;
    std::vector<double> bound{costs.exchange.bytes};  // 0 except on rank 0
    world.sum(bound);
    if (bound[0] == 0) return;
    const PreparedRun run =
        prepare(world, arguments,
                settings_of(R"({"type": "dsgd", "order": "combine_while_adapt"})",
                            predict::kChangingGraph, batch));
    if (run.placement.replicas != hosts) return;
    const train::StepMeasurement measured =
        measure_iterations(world, run, seconds, "with changing hosts");
    costs.changing = exchange_if_link_bound(world, measured.times, run.session->row_bytes());
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
    return mean_over_ranks(world, tries[kTries / 2] / bytes);
}

// Joins the costs of all ranks on rank 0.
void gather_costs(comm::World& world, const RankCosts& mine, predict::Calibration& c) {
    std::vector<double> compute = gather_values(world, mine.compute);
    std::vector<double> update = gather_values(world, mine.update);
    c.buckets = mine.buckets;
    if (world.rank() != 0) return;
    c.samples = static_cast<int64_t>(compute.size());
    c.compute = predict::Distribution::of_samples(std::move(compute));
    std::sort(update.begin(), update.end());
    c.update = update[update.size() / 2];
}

}  // namespace

predict::Subject subject_of(const PreparedRun& run, int threads) {
    if (run.device->ranks_per_gpu() > 1) {
        throw base::UserError(
            "/share_gpus: ranks share a GPU, so their times neither describe nor follow from other "
            "runs: measure and predict with one rank per GPU");
    }
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
    measure_link_costs(world, c);
    std::optional<PreparedRun> alone =
        prepare(world, arguments,
                settings_of(R"({"type": "local_sgd", "period": 1000000000})", "ring", batch));
    PreparedRun& run = *alone;
    c.replicas_per_rank = static_cast<double>(run.placement.count(0));
    const std::string rows = run.session->rows_on_host();
    c.in_place = run.device->is_host() && (rows.empty() || rows.starts_with("in place"));
    if (c.has_remote) measure_link_variation(world, run.session->row_bytes(), seconds / 2, c);
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
                predict::OrderCosts& costs = c.orders[order] =
                    measure_order(world, arguments, order, name, each / 2, batch, c);
                measure_several_rows(world, arguments, name, each / 2, batch, c, costs);
                if (order == predict::Order::combine_while_adapt)
                    measure_changing(world, arguments, each / 2, batch, c, costs);
            } catch (const base::UserError& error) {
                c.assumptions.push_back(std::string("The order ") + name + " was not measured" +
                                        (c.orders.contains(order) ? " completely (" : " (") +
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
