#include "bench/spec_tables.hpp"

#include <algorithm>

#include "algorithms/algorithm.hpp"
#include "algorithms/optimizers/optimizer.hpp"
#include "data/dataset.hpp"
#include "graphs/schedule.hpp"
#include "train/models/names.hpp"

namespace dbench::bench {

using base::Parameter;

const std::vector<Family>& families() {
    static const std::vector<Family> all = {
        {"models", "model", "/model", train::model_entries()},
        {"data", "data set", "/data", base::entries_of(data::data_table())},
        {"graphs", "graph", "/graph", base::entries_of(graphs::graph_table())},
        {"algorithms", "algorithm", "/algorithm", base::entries_of(algorithms::algorithm_table())},
        {"optimizers", "optimizer", "/optimizer", base::entries_of(algorithms::optimizer_table())},
        {"schedules", "schedule", "/schedule", base::entries_of(algorithms::schedule_table())},
        {"partitions", "partition", "/data/partition", base::entries_of(data::partition_table())},
    };
    return all;
}

const Family& family(const std::string& plural) {
    return *std::find_if(families().begin(), families().end(),
                         [&](const Family& f) { return f.plural == plural; });
}

const std::vector<Parameter>& plain_parameters() {
    static const std::vector<Parameter> all = {
        Parameter::integer("replicas", "", "how many model replicas to train").at_least(1),
        Parameter::any("seed", "1", "a number, or one each for init, data, graph, augment"),
        Parameter::choice("precision", "\"float32\"", {"float32", "float64"}, "of all arithmetic"),
        Parameter::choice("device", "\"auto\"", {"auto", "cpu", "cuda"}, "where replicas train"),
        Parameter::duration("length", R"({"epochs": 1})", "of the run").greater_than(0),
        Parameter::choice("init", "\"same\"", {"same", "independent", "zeros"},
                          "initial parameters of the replicas"),
        Parameter::object(
            "evaluate",
            {Parameter::duration("every", R"({"epochs": 1})", "null: only at the ends")
                 .greater_than(0)
                 .or_null(),
             Parameter::any("replicas", "8", "how many local models, or \"all\""),
             Parameter::choice("batchnorm", "\"pooled\"", {"pooled", "recalibrate"},
                               "statistics of the mean model"),
             Parameter::integer("batch_size", "256", "samples at once").at_least(1)},
            "accuracy on the test set"),
        Parameter::object(
            "profile",
            {Parameter::stages("every", R"({"iterations": 1})", "rows of /parameters")
                 .greater_than(0),
             Parameter::flag("norms", "true", "L2 norm of every tensor before averaging"),
             Parameter::object(
                 "variance",
                 {Parameter::choice("kind", "\"exact\"", {"exact", "off"}, "variance of tensors"),
                  Parameter::stages("every", R"({"iterations": 1})", "how often").greater_than(0)},
                 "variance over replicas"),
             Parameter::flag("after", "false", "variance after averaging too"),
             Parameter::integer("graphs", "256", "most matrices kept of random sequences")
                 .at_least(1)},
            "what is recorded"),
        Parameter::flag("allow_biased", "false",
                        "accept a graph that does not suit the algorithm (it warns instead)"),
        Parameter::choice("reduction", "\"auto\"", {"auto", "reproducible", "library"},
                          "how sums over replicas go"),
        Parameter::choice("nonfinite", "\"record\"", {"record", "stop"}, "on a loss not finite"),
        Parameter::object(
            "checkpoint",
            {Parameter::duration("every", "null", "null: none").greater_than(0).or_null(),
             Parameter::integer("keep", "2", "generations").at_least(1),
             Parameter::choice("replicas", "\"refuse\"", {"refuse", "clone", "merge"},
                               "on --resume with another number of replicas")},
            "checkpoints"),
        Parameter::text("output", "\"results/{name}.h5\"", "the result file"),
    };
    return all;
}

bool family_keys(const std::string& pointer, const std::string& type,
                 std::vector<std::string>& keys) {
    for (const Family& f : families()) {
        if (f.pointer != pointer) continue;
        keys.clear();
        for (const base::Entry* entry : f.entries) {
            if (entry->name != type) continue;
            for (const auto& p : entry->parameters) keys.push_back(p.name);
        }
        if (pointer == "/data") {
            for (const auto& p : data::common_data_parameters()) keys.push_back(p.name);
        }
        return true;
    }
    return false;
}

}  // namespace dbench::bench
