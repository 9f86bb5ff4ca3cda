#pragma once
// Predictions of the step time of several graphs, and what follows from them: the numbers of the
// runtime model, the fastest graph, break-even bandwidths.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "comm/placement.hpp"
#include "graphs/schedule.hpp"
#include "predict/calibration.hpp"
#include "predict/network.hpp"
#include "predict/order.hpp"
#include "predict/rounds.hpp"
#include "predict/work.hpp"

namespace dbench::predict {

/// A graph with an order of exchange, which is simulated.
struct Candidate {
    std::string name;   ///< The graph's type, or all-reduce.
    std::string order;  ///< As in a spec; "centralized" for the all-reduce.
    Order simulated;
    /// The schedule of its exchanges; null for the all-reduce.
    std::shared_ptr<const graphs::Schedule> schedule;
    double rows = 1;  ///< Rows that are sent to each neighbour, or in each all-reduce.
    Groups groups = Groups::all_reduce;
};

/// The run for which times are predicted.
struct Plan {
    Work work;  ///< With the costs of asynchronous replicas.
    /// The costs of the other orders.
    std::map<Order, OrderCosts> orders;
    Network network;
    /// The slowdown of the network in orders in which it differs.
    std::map<Order, Slowdown> slowdowns;
    comm::Placement placement;
    double row_bytes = 0;    ///< Bytes of one replica's row in a message.
    int64_t iterations = 0;  ///< Number in the whole run.
    bool gpus = false;       ///< Ranks compute on GPUs.
    uint64_t seed = 1;
    int64_t simulated = 1000;  ///< Most iterations to simulate.
};

/// Bytes per second. Below `p50` the exchange is longer than the computation that hides it.
struct BreakEven {
    double p05, p50, p95;
};

struct Forecast {
    Candidate candidate;
    double p05 = 0, p50 = 0, p95 = 0;  ///< Step time over iterations and ranks, seconds.
    double mean = 0;
    double least = 0, most = 0;  ///< Interval of the mean: blocks of iterations, and kModelError.
    double exposed = 0;          ///< Seconds of the exchange that computation does not hide.
    double bytes = 0;            ///< Sent by all replicas per iteration.
    double exchange = 0;         ///< Seconds of an exchange alone, without computation.
    std::optional<BreakEven> break_even;  ///< Empty if nothing is sent between hosts.
};

/// Relative error that a prediction may have in addition to its spread: the best published
/// simulators of training have 3 to 5 % (docs/predict.md).
constexpr double kModelError = 0.05;

struct Prediction {
    std::vector<std::string> assumptions;
    std::vector<Forecast> forecasts;
    double gamma = 0;     ///< All-reduce without overlap over the mean compute step.
    double omega = 0;     ///< Exchange of the first candidate over that of the all-reduce.
    double sigma2 = 0;    ///< Variance of the compute step, seconds squared.
    double compute = 0;   ///< Mean compute step, seconds.
    std::string fastest;  ///< Name of a graph, or "within noise".
    std::vector<std::string> within_noise;  ///< "NAME (ORDER)", the fastest first.
    int ranks = 1, hosts = 1;
    int64_t iterations = 0;
    bool gpus = false;
};

/// Simulates all candidates. The first one is the spec's own.
Prediction predict(const Plan& plan, const std::vector<Candidate>& candidates,
                   std::vector<std::string> assumptions);

/// The contract of `dbench predict --json` (docs/command-line.md).
base::Json to_json(const Prediction& prediction);
/// A table for people.
std::string to_text(const Prediction& prediction);

/// The hosts of a prediction's ranks, and links that the user gives.
struct Site {
    std::vector<int> host;  ///< Per rank.
    double replicas_per_rank = 1;
    std::optional<double> bandwidth, latency;  ///< Between hosts, given by the user.
};

/// Fills in the work and the network of a plan from a calibration, and adds to `assumptions` what
/// the prediction takes for granted. `row_bytes` are those of a row in memory.
void apply(const Calibration& calibration, const Site& site, Plan& plan,
           std::vector<std::string>& assumptions);

}  // namespace dbench::predict
