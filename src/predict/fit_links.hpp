#pragma once  // Private to predict.
// The slowdowns of links, from the exchanges of a calibration.
//
// A measured exchange takes longer than the messages of one host, because a host also waits for
// messages of others, which may have begun later. The simulation contains these waits. A slowdown
// is therefore chosen such that the simulation of a calibration's exchanges takes as long as these
// did.

#include <map>

#include "predict/calibration.hpp"
#include "predict/network.hpp"
#include "predict/order.hpp"

namespace dbench::predict {

struct LinkFit {
    Slowdown network;  ///< While nothing is computed.
    /// For the orders whose own exchanges were measured, and for similar orders.
    std::map<Order, Slowdown> orders;
};

/// Returns the slowdowns of a calibration with `exchange`, for the links between its hosts.
LinkFit fit_slowdowns(const Calibration& calibration);

}  // namespace dbench::predict
