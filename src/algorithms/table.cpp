// The table of algorithms and the keys that they share.
#include <nlohmann/json.hpp>

#include "algorithms/algorithm_list.hpp"
#include "algorithms/entries.hpp"

namespace dbench::algorithms {

#define ROW_DECLARED(name) AlgorithmEntry name##_entry();
#define ROW_MADE(name) name##_entry(),
DBENCH_ALGORITHMS(ROW_DECLARED)

const std::vector<AlgorithmEntry>& algorithm_table() {
    static const std::vector<AlgorithmEntry> table = {DBENCH_ALGORITHMS(ROW_MADE)};
    return table;
}

Traits traits_of(const AlgorithmEntry& entry, const base::Json& spec) {
    Traits traits = entry.traits;
    if (entry.refine) entry.refine(spec, traits);
    return traits;
}

base::Parameter period_parameter(const char* standard) {
    return base::Parameter::integer(
               "period", standard,
               "H: replicas exchange after every H iterations, (t + 1) mod H = 0")
        .at_least(1);
}

base::Parameter consensus_step_parameter(const char* standard) {
    return base::Parameter::number("gamma", standard,
                                   "consensus step size: how far x moves towards the neighbours")
        .greater_than(0)
        .at_most(1);
}

// With 1 the moment would never change, and bias correction would divide by 0.
base::Parameter moment_parameter(const char* name, const char* standard, const char* help) {
    return base::Parameter::number(name, standard, help).at_least(0).at_most(1 - 1e-12);
}

base::Json resolve_algorithm(const base::Json& given, const std::string& pointer) {
    base::Json out =
        base::resolve_member(given, pointer, "algorithm", base::entries_of(algorithm_table()));
    const auto* row = base::find_entry(algorithm_table(), out.at("type").get<std::string>());
    if (row->check) row->check(out, pointer);
    return out;
}

}  // namespace dbench::algorithms
