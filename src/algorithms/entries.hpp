#pragma once
// The rows of the algorithm table, each in the file of its algorithm.

#include "algorithms/algorithm.hpp"

namespace dbench::algorithms {

AlgorithmEntry centralized_entry();
AlgorithmEntry dsgd_entry();
AlgorithmEntry averaged_momentum_entry();
AlgorithmEntry decentlam_entry();
AlgorithmEntry qg_dsgdm_entry();
AlgorithmEntry d2_entry();
AlgorithmEntry exact_diffusion_entry();
AlgorithmEntry gradient_tracking_entry();
AlgorithmEntry gut_entry();
AlgorithmEntry qg_gutm_entry();
AlgorithmEntry qg_adam_entry();
AlgorithmEntry relaysgd_entry();
AlgorithmEntry local_sgd_entry();
AlgorithmEntry gossip_pga_entry();
AlgorithmEntry hierarchical_averaging_entry();
AlgorithmEntry slowmo_entry();
AlgorithmEntry consensus_control_algorithm_entry();
AlgorithmEntry dsgd_ac_entry();
AlgorithmEntry diloco_entry();
AlgorithmEntry noloco_entry();
AlgorithmEntry gasloc_entry();

/// dsgd in the order adapt_then_combine, over whatever the schedule says; `again`: averagings may
/// be repeated.
std::unique_ptr<Algorithm> adapt_then_combine(const graphs::Schedule* schedule, bool again);

/// Rows that are no more than that over a schedule of their own.
std::unique_ptr<Algorithm> make_over_schedule(const base::Json& spec,
                                              const AlgorithmContext& context);

/// H of local steps: an exchange in iterations t with (t + 1) mod H = 0.
base::Parameter period_parameter(const char* standard);

}  // namespace dbench::algorithms
