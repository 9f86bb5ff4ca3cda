#pragma once
// Makes predictions for a prepared run: its own graph, and others in its place.

#include <optional>
#include <string>
#include <vector>

#include "predict/prediction.hpp"
#include "program/prepare_run.hpp"

namespace dbench::program {

/// The graphs and the ranks of a prediction. The run's own graph is always part of it.
struct ForecastRequest {
    std::vector<std::string> graphs;  ///< TYPE or TYPE:KEY=VALUE:..., or all-reduce.
    bool usual_graphs = false;  ///< Also those that are usual, as far as they exist for n replicas.
    bool both_orders = false;   ///< Also the run's graph in the other order.
    comm::Placement placement;  ///< Replicas on ranks.
    predict::Site site;
    int64_t simulated = 1000;  ///< Most iterations to simulate.
};

/// Predicts the run's step time from a calibration. `estimates` are those of the run on
/// `request.placement`. Throws UserError, for example for a graph that does not exist.
predict::Prediction forecast_run(const PreparedRun& run, predict::Calibration calibration,
                                 const train::Estimates& estimates, const ForecastRequest& request,
                                 std::vector<std::string> assumptions);

/// Reads a calibration. If it was measured with another machine, model, precision or program than
/// `now`, throws UserError that names the difference, or, with `accept`, warns and adds the
/// difference to `assumptions`.
predict::Calibration read_calibration(const std::string& path, const predict::Subject& now,
                                      bool accept, std::vector<std::string>& assumptions);

/// Returns a number from 0 for each host, by rank, in the order of their first rank.
std::vector<int> number_hosts(const std::vector<std::string>& hosts);

}  // namespace dbench::program
