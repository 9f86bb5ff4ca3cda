#pragma once
// The measured costs of a machine for one spec, as `dbench calibrate` writes them
// (docs/predict.md).

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "predict/network.hpp"
#include "predict/order.hpp"
#include "predict/work.hpp"

namespace dbench::predict {

/// The conditions under which a calibration was measured. A prediction under other conditions is
/// refused or comes with a warning.
struct Subject {
    std::string cpu;     ///< Model of the processor.
    int cores = 1;       ///< CPU cores of a host.
    std::string device;  ///< As in a result file: "cpu", or the name of a GPU.
    int threads = 1;     ///< Per rank.
    /// Resolved /model, with `parameters`, `batch` (samples per replica), `sample` (its shape) and
    /// others.
    base::Json model;
    std::string precision;  ///< /precision and /compute.
    std::string program;    ///< Version and commit.
};

/// One difference between two subjects.
struct Difference {
    std::string name;        ///< "machine", "model", "precision" or "program".
    std::string text;        ///< Both values.
    bool permitted = false;  ///< It deserves a warning only: two commits of one version.
};
/// Returns how `now` differs from the subject that was `measured`.
std::vector<Difference> differences(const Subject& measured, const Subject& now);

/// The orders whose costs a calibration measures, with their names in specs and in its file.
inline constexpr std::pair<Order, const char*> kMeasuredOrders[] = {
    {Order::adapt_then_combine, "adapt_then_combine"},
    {Order::combine_while_adapt, "combine_while_adapt"},
    {Order::all_reduce, "centralized"}};

/// The graph on which a calibration measures the orders. A replica sends to the next one, so that a
/// rank reads as many rows as it sends.
inline constexpr const char* kGraphOfOrders = "one_way_ring";
/// The graph on which it measures how the compute step grows with the number of rows. A replica
/// sends to log2(n) others, rounded up.
inline constexpr const char* kGraphOfSeveralRows = "exponential";
/// The graph on which it measures exchanges that often change the other host.
inline constexpr const char* kChangingGraph = "random_matching";

/// Exchanges between hosts, one after another. They show how links vary.
struct Exchange {
    double bytes = 0;  ///< Sent by each host in an exchange, and received as well; 0: not measured.
    Distribution seconds;
};

/// The costs of iterations in one order.
struct OrderCosts {
    RowCosts row_costs;
    Distribution compute;  ///< Seconds without update and exchange.
    double sent = 0;       ///< Bytes that a rank sent as messages in these iterations.
    /// The exchanges of these iterations, if messages decided how long the iterations took.
    Exchange exchange = {};
    /// The exchanges of iterations on kChangingGraph. Measured only if `exchange` was.
    Exchange changing = {};
};

struct Calibration {
    Subject subject;
    std::vector<std::string> hosts;  ///< Host of each rank at the measurement.
    /// Replicas of a rank, the most of all ranks. Times are those of such a rank.
    double replicas_per_rank = 1;
    Distribution compute;         ///< Seconds of an iteration without update and exchange.
    int64_t samples = 0;          ///< Iterations that were measured, of all ranks.
    double update = 0;            ///< Seconds.
    std::vector<Bucket> buckets;  ///< Columns of one replica, in the order of backward.
    double seconds_per_byte = 0;  ///< Time of a pass over rows, while all ranks of a host make one.
    /// The costs of each order, measured in iterations that exchange. Orders that were not measured
    /// have `compute`, `update` and `seconds_per_byte`; files of earlier versions have no
    /// all-reduces.
    std::map<Order, OrderCosts> orders;
    bool has_local = false;   ///< `local` was measured; otherwise it is assumed.
    bool has_remote = false;  ///< `remote` and `uplink` were measured.
    Link local, remote;
    double local_one_way = 0, remote_one_way = 0;  ///< Bytes per second of one direction alone.
    bool in_place = true;
    double uplink = 1;
    /// Exchanges of each host with one other host, while nothing is computed.
    Exchange exchange;
    /// Exchanges with several other hosts at the same time, by their number. A rank sends as much
    /// to each as in `exchange`.
    std::map<int, Exchange> exchanges_with_several;
    std::vector<std::string> assumptions;  ///< Sentences about all that was not measured.

    int ranks_per_host() const;  ///< Largest number of ranks of a host.
    double row_bytes() const;    ///< Sum over the buckets.
};

/// Returns the costs of an order, for those that were not measured from similar ones.
OrderCosts costs_of(const Calibration& calibration, Order order);

base::Json to_json(const Calibration& calibration);
/// Reads what `to_json` wrote; `path` names the file in errors. Throws UserError.
Calibration calibration_of(const base::Json& json, const std::string& path);

}  // namespace dbench::predict
