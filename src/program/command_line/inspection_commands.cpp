#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "program/command_line/command_line.hpp"
#include "program/command_line/shared_options.hpp"

namespace dbench::program {
namespace {

constexpr const char* kGraphExamples = R"(
Examples:
  dbench graph ring --n 16
  dbench graph ring_lattice --n 96 --k 38 --json
  dbench graph ring_lattice:k=38 --n 96
  dbench graph '{"type": "ring_lattice", "k": 38}' --n 96     as in a spec
  dbench graph one_peer_exponential --n 12 --edges --round 3
  dbench graph torus --n 96 --gpus-per-node 6 --placement optimised --model-bytes 102e6
  dbench graph ring --n 8 --links links.txt --model-bytes 102e6 --placement optimised
  dbench graph torus --n 16 --algorithm gut:mu=0.9
  dbench graph --compare ring,torus,exponential,base_k:k=5 --n 96)";

constexpr const char* kConformExamples = R"(
Examples:
  dbench conform
  dbench conform gradient_tracking --graph exponential --n 12
  mpirun -n 4 dbench conform --quick)";

constexpr const char* kListExamples = R"(
Examples:
  dbench list                         everything that a spec can name
  dbench list graphs                  all graphs and their parameters
  dbench list diloco                  one algorithm (or graph, model, ...)
  dbench list evaluate                one key of a spec
  dbench list schema > spec.schema.json     a JSON Schema, for editors)";

constexpr const char* kDoctorExamples = R"(
Examples:
  dbench doctor                       report on this build and machine
  mpirun -n 2 dbench doctor           also measure how fast two hosts exchange data
  mpirun -n 8 dbench doctor --links links.txt     measure the link of every pair of ranks
  dbench doctor results/ring.h5       is the file complete, interrupted or damaged? what to do?
  dbench doctor results               are results and checkpoints safe in this folder?)";

// Returns the "--KEY VALUE" pairs that CLI11 did not know: the parameters of the graph.
std::vector<std::pair<std::string, std::string>> graph_parameters(
    const std::vector<std::string>& rest) {
    std::vector<std::pair<std::string, std::string>> out;
    for (size_t i = 0; i < rest.size(); ++i) {
        const std::string& word = rest[i];
        if (!word.starts_with("--")) {
            throw base::UserError("graph: unexpected argument '" + word +
                                  "' (parameters are given as --KEY VALUE)");
        }
        if (const size_t equals = word.find('='); equals != std::string::npos) {
            out.emplace_back(word.substr(2, equals - 2), word.substr(equals + 1));
        } else if (i + 1 < rest.size()) {
            out.emplace_back(word.substr(2), rest[++i]);
        } else {
            throw base::UserError("graph: " + word + " needs a value");
        }
    }
    return out;
}

// Throws UserError if an option of `dbench graph` has no effect together with the others.
void refuse_options_without_effect(const CLI::App& command) {
    const auto given = [&](const std::string& name) {
        return command.get_option(name)->count() > 0;
    };
    const auto refuse = [&](const std::string& name, const std::string& applies) {
        if (!given(name)) return;
        throw base::UserError("graph: " + name + " has no effect here: it applies to " + applies +
                              ": leave it out");
    };
    std::string printed;
    for (const char* name : {"--matrix", "--edges", "--dot"}) {
        if (given(name)) printed = name;
    }
    if (given("--compare")) {
        for (const char* name : {"--matrix", "--edges", "--dot", "--round", "--rounds"}) {
            refuse(name, "a single graph, TYPE, and not to --compare");
        }
    }
    if (printed.empty()) {
        refuse("--round", "what --matrix, --edges and --dot print");
    } else {
        for (const char* name :
             {"--algorithm", "--gamma", "--placement", "--links", "--model-bytes"}) {
            refuse(name, "the certificate, and not to " + printed);
        }
    }
    if (!given("--gpus-per-node") && !given("--links")) {
        refuse("--placement", "the traffic of --gpus-per-node and the cost of --links");
    }
}

void add_graph(CLI::App& app, CommandLine& line) {
    GraphArguments& graph = line.graph;
    auto* graph_command =
        app.add_subcommand("graph", "print a communication graph, or its proven properties");
    auto* type_option =
        graph_command->add_option("TYPE", graph.type,
                                  "the graph (dbench list graphs): TYPE, TYPE:KEY=VALUE:... or the "
                                  "JSON of a spec; parameters "
                                  "may also follow as --KEY VALUE");
    graph_command
        ->add_option("--compare", graph.compare,
                     "compare several graphs: A,B,C, each of them TYPE or TYPE:KEY=VALUE:...")
        ->delimiter(',')
        ->excludes(type_option);
    graph_command->add_option("-n,--n", graph.n, "number of replicas")
        ->required()
        ->check(whole_number_between(1, 1 << 24));
    graph_command->add_option("--seed", graph.seed, "seed of random graphs")
        ->check(whole_number_between(0, UINT64_MAX));
    auto* round_option =
        graph_command
            ->add_option("--round", graph.round,
                         "of a graph that changes from round to round, print this round")
            ->check(whole_number_between(0, INT64_MAX));
    auto* rounds_option =
        graph_command
            ->add_option(
                "--rounds", graph.rounds,
                "A:B, with --matrix or --edges: print rounds A to B - 1, each after a line "
                "\"# round t\"")
            ->excludes(round_option);
    auto* json_flag = graph_command->add_flag("--json", graph.json, "machine-readable output");
    auto* matrix_flag =
        graph_command->add_flag("--matrix", graph.matrix, "print the mixing matrix W, row by row");
    auto* edges_flag =
        graph_command->add_flag("--edges", graph.edges, "print the edges as lines: to from weight");
    auto* dot_flag = graph_command->add_flag("--dot", graph.dot, "print the graph for Graphviz");
    json_flag->excludes(matrix_flag)->excludes(edges_flag)->excludes(dot_flag);
    matrix_flag->excludes(edges_flag)->excludes(dot_flag);
    edges_flag->excludes(dot_flag);
    rounds_option->excludes(json_flag)->excludes(dot_flag);
    graph_command->add_option(
        "--algorithm", graph.algorithm,
        "NAME or NAME:KEY=VALUE:...: print whether this algorithm is stable on the graph");
    graph_command
        ->add_option("--gamma", graph.gamma,
                     "decay in the effective number of neighbours (default: 0.951)")
        ->check(number_between(0, 0.999999));
    graph_command
        ->add_option("--gpus-per-node", graph.gpus_per_node,
                     "print the traffic between nodes with this many GPUs, one replica per GPU")
        ->check(whole_number_between(1, 1 << 20));
    graph_command->add_option(
        "--placement", graph.placement,
        "where replicas are placed: linear (default), node_major, random, optimised");
    graph_command
        ->add_option("--links", graph.links,
                     "a file with the speed of links: print the seconds that messages need")
        ->type_name("F");
    graph_command
        ->add_option("--model-bytes", graph.model_bytes,
                     "size of the model's parameters: print traffic in bytes")
        ->check(number_between(1, 1e18));
    graph_command->allow_extras();
    graph_command->footer(kGraphExamples);
    graph_command->callback([&line, graph_command] {
        GraphArguments& given = line.graph;
        if (given.type.empty() && given.compare.empty()) {
            throw base::UserError("graph: TYPE is missing (dbench list graphs), or --compare A,B");
        }
        refuse_options_without_effect(*graph_command);
        given.parameters = graph_parameters(graph_command->remaining());
        line.alone = [&line] { return command_graph(line.graph); };
    });
}

void add_conform(CLI::App& app, CommandLine& line) {
    ConformArguments& conform = line.conform;
    auto* conform_command = app.add_subcommand(
        "conform", "compare every algorithm with a dense reference, and test its promises");
    conform_command->add_option("ALGORITHM", conform.algorithm,
                                "check this algorithm only (dbench list algorithms)");
    conform_command->add_option(
        "--graph", conform.graph,
        "TYPE or TYPE:KEY=VALUE:... (default: ring or path, as the algorithm needs)");
    conform_command->add_option("-n,--n", conform.n, "number of replicas (default: 8)")
        ->check(whole_number_between(2, 256));
    conform_command->add_flag("--quick", conform.quick,
                              "skip the checks that need thousands of iterations (bias, noise)");
    conform_command->add_flag("--json", conform.json, "machine-readable output");
    conform_command->footer(kConformExamples);
    conform_command->callback([&line] {
        line.collective = [&line](comm::World& world) {
            return command_conform(world, line.conform);
        };
    });
}

void add_list(CLI::App& app, CommandLine& line) {
    auto* list_command = app.add_subcommand("list", "print what a spec can contain, with defaults");
    list_command->add_option("NAME", line.list_family,
                             "a family (models, graphs, ...), a member of one (ring), a key of the "
                             "spec, spec or schema");
    list_command->add_flag("--json", line.list_json, "machine-readable output");
    list_command->footer(kListExamples);
    list_command->callback([&line] {
        line.alone = [&line] { return command_list(line.list_family, line.list_json); };
    });
}

void add_doctor(CLI::App& app, CommandLine& line) {
    DoctorArguments& doctor = line.doctor;
    auto* doctor_command = app.add_subcommand(
        "doctor",
        "report on this build and machine, on a result file, or on a folder's file system");
    auto* path_option =
        doctor_command->add_option("PATH", doctor.path, "a result file or a folder");
    auto* doctor_links =
        doctor_command
            ->add_option(
                "--links", doctor.links,
                "measure latency and bandwidth between all ranks, and write them to this file")
            ->type_name("F")
            ->excludes(path_option);
    doctor_command->add_flag("--force", doctor.force, "replace an existing file of links")
        ->needs(doctor_links);
    doctor_command->footer(kDoctorExamples);
    doctor_command->callback(
        [&line] { line.alone = [&line] { return command_doctor(line.doctor); }; });
}

void add_version(CLI::App& app, CommandLine& line) {
    auto* version_command = app.add_subcommand("version", "print version, build and libraries");
    version_command->callback([&line] { line.alone = command_version; });
}

}  // namespace

void add_inspection_commands(CLI::App& app, CommandLine& line) {
    add_graph(app, line);
    add_conform(app, line);
    add_list(app, line);
    add_doctor(app, line);
    add_version(app, line);
}

}  // namespace dbench::program
