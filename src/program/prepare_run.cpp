#include "program/prepare_run.hpp"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "algorithms/algorithm.hpp"
#include "algorithms/compatibility.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/path_text.hpp"
#include "graphs/proof/agreement.hpp"
#include "program/inputs.hpp"
#include "program/rank_placement.hpp"
#include "program/stability.hpp"
#include "train/models/names.hpp"

namespace dbench::program {

namespace fs = std::filesystem;
using base::Json;
using base::UserError;

namespace {

std::string default_name(const std::string& path) {
    std::string name = fs::path(path).stem().string();
    for (char& c : name) {
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-' && c != '.')
            c = '_';
    }
    return name.empty() ? "run" : name;
}

// Throws UserError if the graph's matrices do not suit the algorithm; only warns if the spec sets
// `allow_biased` and the mismatch is a bias.
void check_graph(const graphs::Schedule& graph, const std::string& name, const Spec& spec) {
    algorithms::Facts facts = algorithms::facts_of(spec.algorithm);
    facts.matrix = algorithms::matrix_facts(graph, name, facts.traits);
    facts.allow_biased = spec.run.allow_biased;
    algorithms::require_compatible(facts);
}

// Checks every graph that a run may use; only the first one gets the certificate.
void certify(PreparedRun& s) {
    const std::string type = graphs::graph_title(s.spec.graph);
    s.certificate = graphs::certify(*s.graph, type);
    const graphs::StagedSchedule* staged = s.graph->staged();
    if (!staged) {
        return check_graph(
            *s.graph, type + " with " + std::to_string(s.placement.replicas) + " replicas", s.spec);
    }
    const bool sequences = algorithms::facts_of(s.spec.algorithm).traits.sequences;
    if (!sequences) return check_graph(*s.graph, type, s.spec);
    for (size_t k = 0; k < staged->graphs(); ++k) {
        check_graph(staged->graph(k), staged->name(k), s.spec);
    }
}

// Throws UserError if replicas can never agree over the graph, although the algorithm averages over
// nothing else; only warns if the spec sets `allow_disconnected`.
void check_agreement(const PreparedRun& s, const graphs::RunFacts& run) {
    const auto found = graphs::find_disagreement(*s.graph);
    if (!found) return;
    const auto& schedule = algorithms::entry_of(s.spec.algorithm).rules.schedule;
    if (schedule && graphs::connects_all(*schedule(s.spec.algorithm, s.graph, run))) return;
    const std::string what = "/graph: " + graphs::graph_title(s.spec.graph) + ": " + found->reason;
    if (!s.spec.run.allow_disconnected) {
        throw UserError(what + ": " + found->remedy +
                        ", or accept it with \"allow_disconnected\": true");
    }
    base::warn(what);
}

// Repeats certificate and growth on a process that became rank 0 by the placement. The former rank
// 0 has already checked that they are acceptable.
void certify_on_new_root(PreparedRun& s) {
    s.certificate = graphs::certify(*s.graph, graphs::graph_title(s.spec.graph));
    s.growth = conform::growth(s.spec.algorithm, *s.graph);
}

// Throws UserError if a file that a run derives from its output (docs/output-format.md) would have
// a name or a path that is too long for file systems.
void check_length_of_names(const std::string& output, const std::string& key) {
    constexpr size_t kMostName = 255, kMostPath = 4095;
    // The longest names: OUTPUT.until-<12 digits>.h5, and OUTPUT.checkpoints/<12
    // digits>.partial/part-<8 digits>.bin.
    constexpr size_t kAddedToName = 22, kAddedToPath = 12 + 21 + 18;
    const size_t name = fs::path(output).filename().string().size();
    const auto refuse = [&](const std::string& what, size_t found, size_t most, size_t added) {
        throw UserError(key + ": " + what + " has " + std::to_string(found) + " bytes (at most " +
                        std::to_string(most) +
                        " are possible, and names of checkpoints and other "
                        "files of the run add up to " +
                        std::to_string(added) + "): use at most " + std::to_string(most - added) +
                        " bytes");
    };
    if (name + kAddedToName > kMostName) refuse("the file name", name, kMostName, kAddedToName);
    if (output.size() + kAddedToPath > kMostPath) {
        refuse("the path", output.size(), kMostPath, kAddedToPath);
    }
}

// Warns if an output looks like a folder, such as `--output results`: the result would be a file of
// this name, which `dbench-analyze` does not find in its folder.
void warn_of_output_without_suffix(const std::string& output) {
    const fs::path path = output;
    std::error_code ignored;
    if (!path.has_filename() || path.has_extension() || fs::is_directory(path, ignored)) return;
    base::warn("/output: " + output +
               " becomes a file, not a folder, and has no .h5 (dbench-analyze looks for .h5 files "
               "in folders): give " +
               output + ".h5 or " + output + "/NAME.h5");
}

// Reads and resolves one spec. Throws UserError, which names the file if there are several specs.
Spec read(const std::string& path, const RunArguments& arguments) {
    const bool several = arguments.specs.size() > 1;
    try {
        Spec spec = resolve_spec(read_spec(path, arguments.settings), default_name(path));
        const fs::path output = arguments.output;
        const bool folder = several || arguments.one_of_several;
        if (folder) base::check_path_text(arguments.output, "--output");
        if (folder && !output.empty()) {
            spec.output = (output / fs::path(spec.output).filename()).string();
        } else if (!output.empty()) {
            spec.output = output_path(arguments.output, spec.run.name, "--output");
        }
        check_length_of_names(spec.output, arguments.output.empty() ? "/output" : "--output");
        if (!base::is_utf8(spec.output)) {
            throw UserError(
                "--output: is not UTF-8 (the result file holds the command): choose "
                "another name");
        }
        warn_of_output_without_suffix(spec.output);
        return spec;
    } catch (const UserError& error) {
        if (several) throw UserError(path + ": " + error.what());
        throw;
    }
}

// Checks the output of one of several specs before the first run begins, so that no later run fails
// for it.
void check_output(const std::string& path, const std::string& output, const RunArguments& arguments,
                  OutputWriters& writers) {
    if (const std::string obstacle = writers.add(path, output); !obstacle.empty()) {
        throw UserError(obstacle);
    }
    std::error_code ignored;
    if (!arguments.output.empty() && fs::exists(arguments.output, ignored) &&
        !fs::is_directory(arguments.output, ignored)) {
        throw UserError("--output: " + arguments.output +
                        " is a file, but with several specs --output is the folder of their "
                        "results: name a folder");
    }
    if (!arguments.overwrite && !arguments.resume && fs::exists(output, ignored)) {
        throw UserError(path + ": the output " + output +
                        " exists: give --overwrite, --resume or another --output");
    }
}

// Reads the file of the model on rank 0, so that no other rank needs it, and returns its contents
// on all ranks; null if the model has no file. Collective.
std::shared_ptr<const std::string> read_model_file(comm::World& world, const Spec& spec) {
    const std::string path = train::model_file(spec.resolved.at("model"));
    if (path.empty()) return nullptr;
    auto bytes = std::make_shared<std::string>();
    run_on_all_ranks(world, [&] {
        if (world.rank() == 0) *bytes = base::read_text(path, train::kMostModelBytes);
    });
    world.broadcast(*bytes);
    return bytes;
}

}  // namespace

std::string OutputWriters::add(const std::string& path, const std::string& output) {
    std::error_code unknown;  // The current folder may have been removed.
    const auto [writer, first] =
        specs_.emplace(fs::absolute(output, unknown).lexically_normal().string(), path);
    if (first) return "";
    return path + " and " + writer->second + " would both write " + output +
           ": give them names or outputs of their own (/name, /output)";
}

std::vector<Spec> read_specs(comm::World& world, const RunArguments& arguments) {
    world.renumber({});  // A launcher passes standard input to its first process only.
    Json all = Json::array();
    run_on_all_ranks(world, [&] {
        if (world.rank() != 0) return;
        OutputWriters writers;
        for (const std::string& path : arguments.specs) {
            const Spec spec = read(path, arguments);
            all.push_back({{"resolved", spec.resolved},
                           {"algorithm", spec.algorithm},
                           {"graph", spec.graph},
                           {"output", spec.output}});
            if (arguments.specs.size() > 1) check_output(path, spec.output, arguments, writers);
        }
    });
    std::string text = all.dump();
    world.broadcast(text);
    std::vector<Spec> specs;
    for (const Json& spec : Json::parse(text)) {
        specs.push_back(assemble_spec(spec.at("resolved"), spec.at("algorithm"), spec.at("graph"),
                                      spec.at("output")));
    }
    return specs;
}

PreparedRun prepare_run(comm::World& world, Spec spec, train::DevicePurpose use,
                        data::KeptData* data) {
    world.renumber({});
    base::set_log_rank(world.rank());
    PreparedRun s;
    s.spec = std::move(spec);
    const int64_t n = s.spec.run.replicas;
    run_on_all_ranks(world, [&] {
        algorithms::Facts facts = algorithms::facts_of(s.spec.algorithm);
        facts.ranks = {.replicas = n, .ranks = world.size()};
        algorithms::require_compatible(facts);
        s.placement = {n, world.size()};
    });
    run_on_all_ranks(world, [&] {
        s.device = train::make_device(s.spec.run.device, s.spec.run.share_gpus, world, use);
    });
    s.on_device = std::make_unique<train::DeviceScope>(world, *s.device);
    // Graphs that do not depend on the run are made before data are loaded, to report errors early.
    const auto graph_inputs = std::make_shared<std::vector<base::InputDigest>>();
    const auto make = [&](const graphs::RunFacts& run) {
        const auto size = static_cast<int>(n);
        const graphs::GraphContext context{size, s.spec.run.seed.graph, run, graph_inputs};
        s.graph = graphs::make_graph(s.spec.graph, context, "/graph");
        if (world.rank() != 0) return;
        certify(s);
        check_agreement(s, run);
        s.growth = check_stability(s.spec, *s.graph, context);
    };
    const bool planned = graphs::depends_on_run(s.spec.graph);
    run_on_all_ranks(world, [&] {
        if (!s.spec.graph.is_null() && !planned) make({});
    });
    train::SessionOptions options{s.spec.run,
                                  std::make_shared<const Json>(s.spec.resolved),
                                  std::make_shared<const Json>(s.spec.algorithm),
                                  nullptr,
                                  s.spec.output + ".texts",
                                  *s.device,
                                  read_model_file(world, s.spec),
                                  data};
    if (!s.spec.graph.is_null()) {
        options.graph = [&](const graphs::RunFacts& run) {
            if (planned) make(run);
            return s.graph;
        };
    }
    run_on_all_ranks(
        world, [&] { s.session = std::make_unique<train::Session>(world, s.placement, options); });
    s.inputs = inputs_of(*graph_inputs, *s.session);
    require_same_inputs(world, s.inputs);
    s.rank_placement = place_ranks(world, s);
    base::set_log_rank(world.rank());
    s.on_device->connect();
    run_on_all_ranks(world, [&] {
        if (world.rank() == 0 && s.graph && !s.certificate) certify_on_new_root(s);
        s.session->connect();
    });
    return s;
}

}  // namespace dbench::program
