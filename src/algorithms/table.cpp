#include <nlohmann/json.hpp>

#include "algorithms/entries.hpp"

namespace dbench::algorithms {

const std::vector<AlgorithmEntry>& algorithm_table() {
    static const std::vector<AlgorithmEntry> table = {
        centralized_entry(),
        dsgd_entry(),
        averaged_momentum_entry(),
        decentlam_entry(),
        qg_dsgdm_entry(),
        qg_adam_entry(),
        d2_entry(),
        exact_diffusion_entry(),
        gradient_tracking_entry(),
        gut_entry(),
        qg_gutm_entry(),
        relaysgd_entry(),
        local_sgd_entry(),
        gossip_pga_entry(),
        hierarchical_averaging_entry(),
        slowmo_entry(),
        consensus_control_algorithm_entry(),
        dsgd_ac_entry(),
        diloco_entry(),
        noloco_entry(),
        gasloc_entry(),
    };
    return table;
}

base::Parameter period_parameter(const char* standard) {
    return base::Parameter::integer("period", standard,
                                    "H: an exchange after every H iterations, (t + 1) mod H = 0")
        .at_least(1);
}

base::Json resolve_algorithm(const base::Json& given, const std::string& pointer) {
    base::Json out =
        base::resolve_member(given, pointer, "algorithm", base::entries_of(algorithm_table()));
    const auto* row = base::find_row(algorithm_table(), out.at("type").get<std::string>());
    if (row->check) row->check(out, pointer);
    return out;
}

}  // namespace dbench::algorithms
