// dbench: does decentralized data-parallel training work, how well, and how fast, at scale?

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "bench/commands.hpp"
#include "bench/memory.hpp"
#include "comm/launcher.hpp"

namespace {

using namespace dbench;

constexpr const char* kRunExamples = R"(
Examples:
  dbench run configs/quickstart/D_ring.json
  mpirun -n 4 dbench run configs/quickstart/base.json --set /implementation=D_torus --output torus.h5
  srun dbench run spec.json --quiet
  mpirun -n 4 dbench run sweep/*.json --output results/sweep      one after another, in one start
  dbench run spec.json --set '/checkpoint/every={"epochs": 1}'     SIGTERM or SIGUSR1: saved, status 75
  dbench run spec.json --resume                                   goes on, to the same bits)";
constexpr const char* kCheckExamples = R"(
Examples:
  dbench check configs/quickstart/D_ring.json
  dbench check spec.json --set /replicas=1008 --json)";
constexpr const char* kGraphExamples = R"(
Examples:
  dbench graph ring --n 16
  dbench graph ring_lattice --n 96 --k 38 --json
  dbench graph one_peer_exponential --n 12 --edges --round 3
  dbench graph torus --n 96 --gpus-per-node 6 --placement optimised --model-bytes 102e6
  dbench graph torus --n 16 --algorithm gut:mu=0.9
  dbench graph --compare ring,torus,exponential,base_k:k=5 --n 96)";

constexpr const char* kConformExamples = R"(
Examples:
  dbench conform
  dbench conform gradient_tracking --graph exponential --n 12
  mpirun -n 4 dbench conform --quick)";

void add_run_options(CLI::App& command, bench::RunArguments& arguments) {
    command
        .add_option("--set", arguments.settings,
                    "JSON pointer = value, overrides the spec; may be repeated")
        ->type_name("P=V")
        ->allow_extra_args(false);
    command
        .add_option("--output", arguments.output,
                    "the result file; of several specs, the folder of theirs")
        ->type_name("F");
    command.add_flag("--quiet", arguments.quiet,
                     "no progress and notices, warnings and errors only");
}

// The "--KEY VALUE" pairs that CLI11 did not know: parameters of the graph.
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

int dispatch(int argc, char** argv) {
    CLI::App app{
        "DBench trains n model replicas with centralized or decentralized SGD and records "
        "how far they drift apart."};
    app.name("dbench");
    app.require_subcommand(1);

    bench::RunArguments run;
    run.command.assign(argv, argv + argc);
    auto* run_command = app.add_subcommand("run", "train and record");
    run_command
        ->add_option("SPEC", run.specs,
                     "the experiment spec, a JSON file; several are run one after another")
        ->required();
    add_run_options(*run_command, run);
    run_command->add_flag("--overwrite", run.overwrite, "replace an existing result file");
    run_command
        ->add_flag("--resume", run.resume,
                   "go on from the newest checkpoint; from the start where there is none")
        ->excludes("--overwrite");
    run_command->footer(kRunExamples);

    bool check_json = false;
    auto* check_command = app.add_subcommand(
        "check", "validate a spec; print it resolved, with memory, bytes and the certificate");
    check_command->add_option("SPEC", run.specs, "the experiment spec, a JSON file")
        ->required()
        ->expected(1);
    add_run_options(*check_command, run);
    check_command->add_flag("--json", check_json, "machine-readable");
    check_command->footer(kCheckExamples);

    bench::GraphArguments graph;
    auto* graph_command = app.add_subcommand("graph", "certify or print a communication graph");
    auto* type_option =
        graph_command->add_option("TYPE", graph.type, "the graph (dbench list graphs)");
    graph_command
        ->add_option(
            "--compare", graph.compare,
            "several side by side, instead of TYPE: A,B,C; each TYPE or TYPE:KEY=VALUE:...")
        ->delimiter(',')
        ->excludes(type_option);
    graph_command->add_option("--n", graph.n, "replicas")
        ->required()
        ->check(CLI::Range(1, 1 << 24));
    graph_command->add_option("--seed", graph.seed, "of random graphs");
    auto* round_option =
        graph_command->add_option("--round", graph.round, "which round of a sequence")
            ->check(CLI::NonNegativeNumber);
    auto* rounds_option =
        graph_command
            ->add_option("--rounds", graph.rounds,
                         "A:B, with --matrix or --edges: rounds A to B - 1, each under a line "
                         "\"# round t\"")
            ->excludes(round_option);
    auto* json_flag =
        graph_command->add_flag("--json", graph.json, "certificate, machine-readable");
    auto* matrix_flag = graph_command->add_flag("--matrix", graph.matrix, "W, row by row");
    auto* edges_flag = graph_command->add_flag("--edges", graph.edges, "lines: to from weight");
    auto* dot_flag = graph_command->add_flag("--dot", graph.dot, "for Graphviz");
    json_flag->excludes(matrix_flag)->excludes(edges_flag)->excludes(dot_flag);
    matrix_flag->excludes(edges_flag)->excludes(dot_flag);
    edges_flag->excludes(dot_flag);
    rounds_option->excludes(json_flag)->excludes(dot_flag);
    graph_command->add_option("--algorithm", graph.algorithm,
                              "NAME or NAME:KEY=VALUE:..., and how it grows on the graph");
    graph_command->add_option("--gamma", graph.gamma, "decay of the effective neighbours, 0.951")
        ->check(CLI::Range(0.0, 0.999999));
    graph_command
        ->add_option("--gpus-per-node", graph.gpus_per_node,
                     "traffic between nodes of so many GPUs, one replica each")
        ->check(CLI::PositiveNumber);
    graph_command->add_option("--placement", graph.placement,
                              "of replicas: linear (default), node_major, random, optimised");
    graph_command
        ->add_option("--model-bytes", graph.model_bytes,
                     "of one model's parameters: traffic in bytes, not in models")
        ->check(CLI::PositiveNumber);
    graph_command->allow_extras();
    graph_command->footer(kGraphExamples);

    bench::ConformArguments conform;
    auto* conform_command = app.add_subcommand(
        "conform", "every algorithm against a dense reference and what it promises");
    conform_command->add_option("ALGORITHM", conform.algorithm,
                                "one of them (dbench list algorithms); default all");
    conform_command->add_option("--graph", conform.graph,
                                "TYPE or TYPE:KEY=VALUE:..., default one that suits: ring or path");
    conform_command->add_option("--n", conform.n, "replicas, 8")->check(CLI::Range(2, 256));
    conform_command->add_flag("--quick", conform.quick,
                              "without what takes thousands of iterations (bias, noise)");
    conform_command->add_flag("--json", conform.json, "machine-readable");
    conform_command->footer(kConformExamples);

    std::string list_family;
    bool list_json = false;
    auto* list_command = app.add_subcommand("list", "what a spec can name, with defaults");
    list_command->add_option("FAMILY", list_family,
                             "spec, models, data, graphs, algorithms, optimizers, schedules, ...");
    list_command->add_flag("--json", list_json, "machine-readable");

    std::string doctor_path;
    auto* doctor_command = app.add_subcommand(
        "doctor",
        "this build and machine; or the state of a result file; or a folder's file system");
    doctor_command->add_option("PATH", doctor_path, "a result file or a folder");
    auto* version_command = app.add_subcommand("version", "version, build and libraries");

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : base::kExitUser;
    }
    if (run_command->parsed() || check_command->parsed() || conform_command->parsed()) {
        comm::World world{comm::launch()};
        try {
            if (conform_command->parsed()) return bench::command_conform(world, conform);
            return run_command->parsed() ? bench::command_run(world, run)
                                         : bench::command_check(world, run, check_json);
        } catch (const base::UserError& error) {
            // Thrown on all ranks alike: one says it.
            if (world.rank() == 0) base::report_error(error.what());
            return base::kExitUser;
        }
    }
    if (graph_command->parsed()) {
        if (graph.type.empty() && graph.compare.empty()) {
            throw base::UserError("graph: TYPE is missing (dbench list graphs), or --compare A,B");
        }
        graph.parameters = graph_parameters(graph_command->remaining());
        return bench::command_graph(graph);
    }
    if (list_command->parsed()) return bench::command_list(list_family, list_json);
    if (doctor_command->parsed()) return bench::command_doctor(doctor_path);
    if (version_command->parsed()) return bench::command_version();
    return base::kExitUser;
}

int command(int argc, char** argv) {
    try {
        return dispatch(argc, argv);
    } catch (const base::UserError& error) {
        base::report_error(error.what());
        return base::kExitUser;
    } catch (const std::exception& error) {
        const bool memory = bench::is_out_of_memory(error);
        base::report_error(memory ? bench::memory_message(0) : base::reason_of(error));
        return memory ? base::kExitUser : base::kExitFailed;
    }
}

/// Ends the process without the destructors of what is static: LibTorch's take a third of the time
/// of a short command, and give back what the system takes anyway. Nothing of ours waits for them:
/// files, locks, threads and MPI are held by objects that the command has destroyed, and HDF5 is
/// told not to close anything at the exit. Sanitizers look for leaks after the destructors.
[[noreturn]] void leave(int status) {
    const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;  // std::cout's too
    if (!written && status == 0) {
        base::report_error("cannot write all to standard output (no space, or it is closed)");
        status = base::kExitFailed;
    }
#ifdef DBENCH_SANITIZED
    std::exit(status);
#else
    std::_Exit(status);
#endif
}

}  // namespace

int main(int argc, char** argv) { leave(command(argc, argv)); }
