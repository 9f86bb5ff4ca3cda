#pragma once
// Measures the links between the ranks that run, for a calibration (predict/calibration.hpp).

#include "comm/world/world.hpp"
#include "predict/calibration.hpp"

namespace dbench::program {

/// Measures latency and bandwidth between two ranks of one host, between two hosts, and of a host's
/// uplink. Sets `hosts` and the links of `c`: on rank 0 all of them, elsewhere not the latencies.
/// Prints a notice if there are several ranks. Collective.
void measure_link_costs(comm::World& world, predict::Calibration& c);

/// Measures for about `seconds` how long the hosts take to exchange rows of `row_bytes` bytes: with
/// the next host, and if there are three or more hosts, with the next two at the same time. Sets
/// `exchange` and `exchanges_with_several` of `c` on rank 0. Does nothing unless every rank's
/// partner, one host further, is on another host. Requires the results of `measure_link_costs`, and
/// several hosts. Collective. Throws UserError on all ranks if one of them has too little memory.
void measure_link_variation(comm::World& world, double row_bytes, double seconds,
                            predict::Calibration& c);

}  // namespace dbench::program
