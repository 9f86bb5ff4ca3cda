#include "program/spec_tables.hpp"

#include <algorithm>

#include "algorithms/algorithm.hpp"
#include "algorithms/codecs/codec.hpp"
#include "algorithms/learning_rates/schedule.hpp"
#include "algorithms/optimizers/optimizer.hpp"
#include "data/data_spec.hpp"
#include "data/dataset.hpp"
#include "graphs/placement_table.hpp"
#include "graphs/schedule.hpp"
#include "train/models/names.hpp"

namespace dbench::program {

const std::vector<Family>& families() {
    static const std::vector<Family> all = {
        {"models", "model", "/model", train::model_entries()},
        {"data", "data set", "/data", base::entries_of(data::data_table())},
        {"graphs", "graph", "/graph", base::entries_of(graphs::graph_table())},
        {"algorithms", "algorithm", "/algorithm", base::entries_of(algorithms::algorithm_table())},
        {"optimizers", "optimizer", "/optimizer", base::entries_of(algorithms::optimizer_table())},
        {"schedules", "schedule", "/schedule", base::entries_of(algorithms::schedule_table())},
        {"codecs", "codec", "/message", base::entries_of(algorithms::codec_table())},
        {"placements", "placement", "/placement", base::entries_of(graphs::placement_table())},
        {"partitions", "partition", "/data/partition", base::entries_of(data::partition_table())},
    };
    return all;
}

const Family& family(const std::string& plural) {
    return *std::find_if(families().begin(), families().end(),
                         [&](const Family& f) { return f.plural == plural; });
}

const Family* family_at(const std::string& pointer) {
    const auto found = std::find_if(families().begin(), families().end(),
                                    [&](const Family& f) { return f.pointer == pointer; });
    return found == families().end() ? nullptr : &*found;
}

std::vector<std::string> member_keys(const Family& family, const std::string& type) {
    std::vector<std::string> keys;
    for (const base::Entry* entry : family.entries) {
        if (entry->name != type) continue;
        for (const auto& p : entry->parameters) keys.push_back(p.name);
    }
    if (family.plural == "data") {
        for (const auto& p : data::DataSpec::section().parameters()) keys.push_back(p.name);
    }
    if (family.plural == "graphs") keys.emplace_back("until");  // An entry of a list has it.
    return keys;
}

const Family* family_inside(const Family& family, const std::string& type, const std::string& key) {
    for (const base::Entry* entry : family.entries) {
        if (entry->name != type) continue;
        for (const auto& p : entry->parameters) {
            if (p.name == key && !p.family.empty()) return &program::family(p.family);
        }
    }
    return nullptr;
}

}  // namespace dbench::program
