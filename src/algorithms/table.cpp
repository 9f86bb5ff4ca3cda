// The table of algorithms.
#include <nlohmann/json.hpp>

#include "algorithms/algorithm.hpp"
#include "algorithms/algorithm_list.hpp"

namespace dbench::algorithms {
namespace {

// Checks the rules that concern more than one key of an algorithm whose keys are complete.
base::Json with_rules(base::Json spec, const std::string& pointer, const AlgorithmEntry& row) {
    const auto& rules = row.rules;
    if (rules.resolve_base) rules.resolve_base(spec, spec["base"], pointer + "/base");
    if (rules.check) rules.check(spec, pointer);
    return spec;
}

}  // namespace

#define ROW_DECLARED(name) AlgorithmEntry name##_entry();
#define ROW_MADE(name) name##_entry(),
DBENCH_ALGORITHMS(ROW_DECLARED)

const std::vector<AlgorithmEntry>& algorithm_table() {
    static const std::vector<AlgorithmEntry> table = {DBENCH_ALGORITHMS(ROW_MADE)};
    return table;
}

const AlgorithmEntry& entry_of(const base::Json& algorithm) {
    return *base::find_entry(algorithm_table(), algorithm.at("type").get<std::string>());
}

Traits traits_of(const AlgorithmEntry& entry, const base::Json& spec) {
    Traits traits = entry.traits;
    if (entry.rules.refine) entry.rules.refine(spec, traits);
    return traits;
}

base::Json resolve_algorithm(const base::Json& given, const std::string& pointer) {
    const auto rows = base::entries_of(algorithm_table());
    base::Json out = base::resolve_member(given, pointer, "algorithm", rows);
    const AlgorithmEntry& row = entry_of(out);
    return with_rules(std::move(out), pointer, row);
}

base::Json resolve_algorithm(const base::Json& given, const std::string& pointer,
                             const AlgorithmEntry& row) {
    return with_rules(base::resolve_member(given, pointer, "algorithm", {&row}), pointer, row);
}

}  // namespace dbench::algorithms
