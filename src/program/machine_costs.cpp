#include "program/machine_costs.hpp"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "algorithms/step/timers.hpp"
#include "arena/kernels.hpp"
#include "base/build_info.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "data/kept_data.hpp"
#include "graphs/schedule.hpp"
#include "predict/rounds.hpp"
#include "program/link_costs.hpp"
#include "program/measured_iterations.hpp"
#include "program/provenance.hpp"
#include "program/rank_values.hpp"

namespace dbench::program {

using base::Json;

namespace {

constexpr double kAssumedDevicePass = 1e-12;  // seconds per byte: a GPU's memory

// Returns the mean over ranks of the mean of `values`.
double mean_of_ranks(comm::World& world, const std::vector<double>& values) {
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    return mean_over_ranks(world, sum / static_cast<double>(values.size()));
}

// Returns by how much longer the times of a rank with the most replicas are than those of this
// rank.
double up_to_most_replicas(comm::World& world, const comm::Placement& placement) {
    return static_cast<double>(placement.count(0)) /
           static_cast<double>(placement.count(world.rank()));
}

// Returns the times of iterations as exchanges, on rank 0, if messages decided how long the
// iterations took: they show how links vary while ranks compute. `bytes` are those that a host
// sends in an iteration.
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
    const std::vector<double> medians = gather_values(world, {waiting[waiting.size() / 2]});
    const std::vector<double> all = gather_values(world, steps);
    const bool bound =
        !medians.empty() && *std::min_element(medians.begin(), medians.end()) >= kLeastWaiting;
    if (!bound) return {};
    return {bytes, predict::Distribution::of_samples(all)};
}

// The iterations in which the costs of an order are measured.
struct OrderIterations {
    predict::Order order;
    std::string name;
    MeasuredIterations one;                     // with one row, or an all-reduce
    std::optional<MeasuredIterations> several;  // with several rows
    std::string graph;                          // of `one`; empty for an all-reduce
    std::string obstacle = "";                  // why something was not measured
};

// The bytes that this rank reads, writes and sends in an iteration.
struct Traffic {
    double read = 0;    // rows of other replicas
    double passes = 0;  // read and written by weighted sums outside the update
    double sent = 0;    // in messages, the mean over ranks
};

// `graph` is empty for an all-reduce.
Traffic bytes_on(comm::World& world, const MeasuredIterations& iterations, const std::string& graph,
                 const predict::Calibration& c) {
    const comm::Placement& placement = iterations.placement();
    const double row = iterations.row_bytes();
    std::vector<int> host;  // of each rank: the first rank on the same host
    for (const std::string& each : c.hosts) {
        host.push_back(
            static_cast<int>(std::find(c.hosts.begin(), c.hosts.end(), each) - c.hosts.begin()));
    }
    const auto replicas = static_cast<int>(placement.replicas);
    const predict::Rounds rounds =
        graph.empty()
            ? predict::plan_all_reduce(placement)
            : predict::plan_rounds(*graphs::make_graph(graph, {replicas, 1}), placement, 1);
    const predict::RoundPlan& plan = rounds.at(0);
    const auto own = static_cast<double>(placement.count(world.rank()));
    Traffic found;
    found.read = plan.rows_read[static_cast<size_t>(world.rank())] * row;
    const int members = plan.group_size[static_cast<size_t>(world.rank())];
    found.passes = members > 0 ? predict::passes_of_all_reduce(members, own) * row
                               : found.read + 2 * own * row;
    const predict::SumFacts sums{std::move(host), c.in_place, iterations.library_sums(), false,
                                 placement.replicas % placement.ranks == 0};
    const double sent = plan.rows_in_messages(sums)[static_cast<size_t>(world.rank())];
    found.sent = mean_over_ranks(world, sent * row);
    return found;
}

// Returns the compute steps of all ranks, on rank 0.
predict::Distribution compute_of(comm::World& world, const MeasuredIterations& iterations) {
    const double factor = up_to_most_replicas(world, iterations.placement());
    std::vector<double> compute;
    for (const algorithms::Times& times : iterations.times()) {
        using algorithms::Time;
        const double other = times[Time::update] + times[Time::exchange];
        compute.push_back(factor * std::max(0.0, times[Time::step] - other));
    }
    const std::vector<double> all = gather_values(world, compute);
    return world.rank() == 0 ? predict::Distribution::of_samples(all) : predict::Distribution();
}

// Returns the costs of an order from its iterations. On rank 0, the compute steps are compared with
// that of `c`.
predict::OrderCosts costs_from(comm::World& world, const OrderIterations& measured,
                               const predict::Calibration& c) {
    const MeasuredIterations& iterations = measured.one;
    const comm::Placement& placement = iterations.placement();
    const double row = iterations.row_bytes();
    const Traffic one = bytes_on(world, iterations, measured.graph, c);
    const double memory = mean_over_ranks(world, c.seconds_per_byte);
    // In combine_while_adapt the update reads the other rows, but two replicas average as a group.
    const bool reads = measured.order == predict::Order::combine_while_adapt && one.read > 0;
    const double reading = reads ? one.read * memory : 0;
    const double factor = up_to_most_replicas(world, placement);
    std::vector<double> update, mixing;
    for (const algorithms::Times& times : iterations.times()) {
        using algorithms::Time;
        update.push_back(factor * (times[Time::update] - reading));
        mixing.push_back(times[Time::exchange] - times[Time::wait]);
    }
    predict::OrderCosts costs;
    predict::RowCosts& row_costs = costs.row_costs;
    const double mixed =
        std::accumulate(mixing.begin(), mixing.end(), 0.0) / static_cast<double>(mixing.size());
    row_costs.update = std::max(0.0, mean_of_ranks(world, update));
    row_costs.seconds_per_byte =
        mean_over_ranks(world, reads ? memory + mixed / one.read : mixed / one.passes);
    if (measured.order == predict::Order::combine_while_adapt)
        row_costs.seconds_per_byte = std::max(memory, row_costs.seconds_per_byte);
    costs.sent = one.sent;
    costs.compute = compute_of(world, iterations);
    const auto prolonged = [&](const predict::Distribution& compute) {
        return compute.mean() - c.compute.mean();
    };
    if (one.sent > 0) row_costs.prolongation.measured[one.sent] = prolonged(costs.compute);
    if (measured.several && !measured.several->times().empty()) {
        const double sent =
            bytes_on(world, *measured.several, predict::kGraphOfSeveralRows, c).sent;
        row_costs.prolongation.measured[sent] = prolonged(compute_of(world, *measured.several));
    }
    if (c.has_remote && measured.order != predict::Order::all_reduce) {
        int crossing = 0;  // rows from the first host to others
        for (size_t rank = 0; rank < c.hosts.size(); ++rank) {
            const std::string& next = c.hosts[(rank + 1) % c.hosts.size()];
            crossing += c.hosts[rank] == c.hosts[0] && next != c.hosts[0];
        }
        costs.exchange = exchange_if_link_bound(world, iterations.times(), crossing * row);
    }
    return costs;
}

// Measures iterations in the order combine_while_adapt, in most of which a host exchanges a row
// with another host than before. Sets `changing` of `costs`, the order's costs, on rank 0. Does
// nothing unless messages decide how long iterations take, each host has one replica,
// and the number of hosts is even and at least four: otherwise hosts would send different numbers
// of rows. Collective. Throws UserError on all ranks.
void measure_changing(comm::World& world, const RunArguments& arguments, double seconds,
                      int64_t batch, const predict::Calibration& c, predict::OrderCosts& costs,
                      data::KeptData& data) {
    const int hosts = world.size();
    if (c.ranks_per_host() > 1 || hosts < 4 || hosts % 2 == 1) return;
    std::vector<double> bound{costs.exchange.bytes};  // 0 except on rank 0
    world.sum(bound);
    if (bound[0] == 0) return;
    MeasuredIterations measured("with changing hosts",
                                settings_of(R"({"type": "dsgd", "order": "combine_while_adapt"})",
                                            predict::kChangingGraph, batch),
                                seconds);
    measured.prepare(world, arguments, data);
    if (measured.placement().replicas != hosts) return;
    measured.warm_up(world);
    measured.measure_block(world, 1);
    costs.changing = exchange_if_link_bound(world, measured.times(), measured.row_bytes());
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
void gather_costs(comm::World& world, const MeasuredIterations& alone, predict::Calibration& c) {
    const double factor = up_to_most_replicas(world, alone.placement());
    std::vector<double> update;
    for (const algorithms::Times& times : alone.times()) {
        update.push_back(factor * times[algorithms::Time::update]);
    }
    c.update = mean_of_ranks(world, update);
    c.compute = compute_of(world, alone);
    c.samples = static_cast<int64_t>(alone.times().size()) * world.size();
}

// Returns the buckets of one replica.
std::vector<predict::Bucket> buckets_of(const MeasuredIterations& alone, const PreparedRun& run) {
    const double element = static_cast<double>(arena::size_of(run.session->type()));
    const bool host = run.device->is_host();
    std::vector<predict::Bucket> found;
    double all = 0, before = 0;
    for (const auto& bucket : alone.buckets()) {
        all += static_cast<double>(run.session->layout().numel_in(bucket.columns));
    }
    for (const auto& bucket : alone.buckets()) {
        const auto numel = static_cast<double>(run.session->layout().numel_in(bucket.columns));
        before += numel;
        // Without a measurement, forward takes a third of the step.
        found.push_back(
            {numel * element, host ? std::min(1.0, bucket.share) : 1 / 3. + 2 / 3. * before / all});
    }
    return found;
}

// Returns the iterations in which the orders are measured, each kind for `seconds`. `alone` has
// been prepared.
std::vector<OrderIterations> iterations_of_orders(comm::World& world,
                                                  const MeasuredIterations& alone, double seconds,
                                                  int64_t batch, const predict::Calibration& c) {
    std::vector<OrderIterations> found;
    for (const auto& [order, name] : predict::kMeasuredOrders) {
        if (order == predict::Order::all_reduce) {
            if (world.size() == 1) continue;  // nothing would be exchanged
            const auto settings = settings_of(R"({"type": "centralized"})", "null", batch);
            found.push_back(
                {order, name, MeasuredIterations("with all-reduces", settings, seconds), {}, ""});
            continue;
        }
        const std::string algorithm = R"({"type": "dsgd", "order": ")" + std::string(name) + "\"}";
        const auto on = [&](const char* graph) {
            return MeasuredIterations(
                "in the order " + std::string(name) + " on the graph " + graph,
                settings_of(algorithm, graph, batch), seconds);
        };
        OrderIterations& added = found.emplace_back(
            OrderIterations{order, name, on(predict::kGraphOfOrders), {}, predict::kGraphOfOrders});
        // Two replicas have a single row to send.
        const Traffic one = bytes_on(world, alone, added.graph, c);
        if (one.sent > 0 && alone.placement().replicas > 2)
            added.several = on(predict::kGraphOfSeveralRows);
    }
    return found;
}

// True if `kinds` runs like this one fit into the memory of every host at the same time.
// Collective.
bool fit_together(comm::World& world, const PreparedRun& run, size_t kinds,
                  const predict::Calibration& c) {
    constexpr int64_t kCareful = 2;  // activations and data are not part of an estimate
    const int64_t bytes =
        kCareful * static_cast<int64_t>(kinds) * run.session->estimate().memory_bytes;
    const std::string obstacle = memory_obstacle({bytes, run.device.get()}, c.ranks_per_host());
    std::vector<double> obstacles{obstacle.empty() ? 0.0 : 1.0};
    world.sum(obstacles);
    return obstacles[0] == 0;
}

// Measures `alone`, which has been prepared, and the orders, and frees their memory: all in turn if
// their runs fit into memory together, otherwise one after another.
void measure_all(comm::World& world, const RunArguments& arguments, MeasuredIterations& alone,
                 std::vector<OrderIterations>& orders, data::KeptData& data,
                 predict::Calibration& c) {
    std::vector<std::pair<MeasuredIterations*, OrderIterations*>> all;
    for (OrderIterations& order : orders) {
        all.emplace_back(&order.one, &order);
        if (order.several) all.emplace_back(&*order.several, &order);
    }
    const bool together = fit_together(world, *alone.run(), all.size() + 1, c);
    const auto prepare = [&](MeasuredIterations* kind, OrderIterations* order) {
        try {
            kind->prepare(world, arguments, data);
        } catch (const base::UserError& error) {
            order->obstacle = error.what();
        }
        return kind->run() != nullptr;
    };
    std::vector<MeasuredIterations*> in_turn{&alone};
    for (const auto& [kind, order] : all) {
        if (together && prepare(kind, order)) in_turn.push_back(kind);
    }
    measure_in_turn(world, in_turn);
    c.buckets = buckets_of(alone, *alone.run());
    for (MeasuredIterations* kind : in_turn) kind->release();
    for (const auto& [kind, order] : all) {
        if (together || !prepare(kind, order)) continue;
        measure_in_turn(world, {kind});
        kind->release();
    }
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
    const Json& optimizer = resolved.at("optimizer");
    model["optimizer"] = optimizer.at("type");
    // Clipping is part of the compute step.
    const Json clipped = optimizer.value("clip_norm", Json());
    if (!clipped.is_null()) model["clip_norm"] = clipped;
    model["data"] = resolved.at("data").at("type");
    const std::string sample = session.sample_shape();
    if (!sample.empty()) model["sample"] = sample;
    const Json& batch = resolved.at("data").at("batch_size");
    if (batch.is_object() && batch.contains("tokens")) {
        model["batch"] = batch;
    } else {
        model["batch"] = static_cast<double>(session.plan().samples_per_iteration) /
                         static_cast<double>(run.placement.replicas);
    }
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
    data::KeptData data;
    MeasuredIterations alone(
        "without exchange",
        settings_of(R"({"type": "local_sgd", "period": 1000000000})", "ring", batch), seconds);
    alone.prepare(world, arguments, data);
    const comm::Placement placement = alone.placement();
    c.replicas_per_rank = static_cast<double>(placement.count(0));
    const std::string rows = alone.run()->session->rows_on_host();
    const bool host = alone.run()->device->is_host();
    c.in_place = host && (rows.empty() || rows.starts_with("in place"));
    if (c.has_remote) measure_link_variation(world, alone.row_bytes(), seconds / 2, c);
    if (host) {
        c.seconds_per_byte = measure_memory(world, alone.row_bytes());
    } else {
        c.seconds_per_byte = kAssumedDevicePass;
        c.assumptions.push_back(
            "Forward takes a third of the compute step, and buckets become ready in proportion to "
            "their elements: on a GPU this is not measured.");
        c.assumptions.push_back("A pass over rows moves 1 TB/s: on a GPU this is not measured.");
    }
    std::vector<OrderIterations> orders;
    if (host && placement.replicas > 1) {
        alone.seconds = seconds / 2;
        orders = iterations_of_orders(world, alone, seconds / 4, batch, c);
    }
    measure_all(world, arguments, alone, orders, data, c);
    gather_costs(world, alone, c);
    for (OrderIterations& measured : orders) {
        const bool known = !measured.one.times().empty();
        if (known) {
            predict::OrderCosts& costs = c.orders[measured.order] = costs_from(world, measured, c);
            try {
                if (measured.order == predict::Order::combine_while_adapt)
                    measure_changing(world, arguments, seconds / 4, batch, c, costs, data);
            } catch (const base::UserError& error) {
                measured.obstacle = error.what();
            }
        }
        if (measured.obstacle.empty()) continue;
        c.assumptions.push_back("The order " + measured.name + " was not measured" +
                                (known ? " completely (" : " (") + measured.obstacle + ").");
    }
    return c;
}

}  // namespace dbench::program
