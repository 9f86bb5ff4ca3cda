// The program dbench: parses the command line and calls a subcommand (commands.hpp).

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/path_text.hpp"
#include "comm/transport/launcher.hpp"
#include "data/byte_pairs.hpp"
#include "program/commands.hpp"
#include "program/memory.hpp"
#include "program/purposes.hpp"
#include "train/device/device.hpp"

namespace {

using namespace dbench;

constexpr const char* kRunExamples = R"(
Examples:
  dbench run configs/quickstart/D_ring.json
  mpirun -n 4 dbench run configs/quickstart/base.json --set /implementation=D_torus --output torus.h5
  srun dbench run spec.json --quiet
  mpirun -n 4 dbench run sweep/*.json --output results/sweep     one spec after another
  dbench run spec.json --set '/checkpoint/every={"epochs": 1}'  SIGTERM or SIGUSR1: save, status 75
  dbench run spec.json --resume                                  continue, bit for bit)";
constexpr const char* kCheckExamples = R"(
Examples:
  dbench check configs/quickstart/D_ring.json
  dbench check spec.json --set /replicas=1008 --json
  dbench check spec.json --ranks 16 --activations     memory of a rank among 16
  dbench check spec.json --purpose time               may its times be compared? what permits it?
  dbench check sweep/*.json           print a summary or an error for each spec)";
constexpr const char* kCalibrateExamples = R"(
Examples:
  mpirun -n 4 dbench calibrate spec.json --output costs.json
  srun dbench calibrate spec.json --output costs.json --overwrite
  dbench predict spec.json --calibration costs.json)";
constexpr const char* kPredictExamples = R"(
Examples:
  dbench predict spec.json                              a brief measurement, assumed links
  dbench predict spec.json --calibration costs.json     measured by dbench calibrate
  dbench predict spec.json --calibration costs.json --hosts 16 --gpus-per-node 4 --json
  dbench predict spec.json --graphs ring,base_k:k=1,all-reduce --hosts 8 --bandwidth 125e6)";
constexpr const char* kGraphExamples = R"(
Examples:
  dbench graph ring --n 16
  dbench graph ring_lattice --n 96 --k 38 --json
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

constexpr const char* kDataExamples = R"(
Examples:
  dbench data pack imagenet/train /scratch/train.pack
  dbench data pack imagenet/val /scratch/val.pack --force
  dbench data pack imagenet-sample sample.pack --class-by-name
  dbench data verify /scratch/train.pack     compare all checksums
  dbench data pieces multi30k/train.en multi30k/train.de --pieces 10000 --output pieces.txt
  dbench run translation.json --set data.pieces=pieces.txt
  dbench run spec.json --set data.train=/scratch/train.pack --set data.test=/scratch/val.pack)";

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

void add_run_options(CLI::App& command, program::RunArguments& arguments) {
    command
        .add_option("--set", arguments.settings,
                    "set a key of the spec: JSON pointer = value; may be repeated")
        ->type_name("P=V")
        ->allow_extra_args(false);
    command
        .add_option("--output", arguments.output,
                    "the result file; with several specs, the folder for their result files")
        ->type_name("F");
    command.add_flag("--quiet", arguments.quiet,
                     "print warnings and errors only, no progress and no notices");
}

void add_one_spec(CLI::App& command, program::RunArguments& arguments) {
    command.add_option("SPEC", arguments.specs, "the experiment spec, a JSON file")
        ->required()
        ->expected(1);
    command
        .add_option("--set", arguments.settings,
                    "set a key of the spec: JSON pointer = value; may be repeated")
        ->type_name("P=V")
        ->allow_extra_args(false);
}

void add_calibration_options(CLI::App& command, std::string& calibration, bool& accept) {
    auto* option =
        command
            .add_option("--calibration", calibration,
                        "a file that dbench calibrate wrote, from which the time is predicted")
            ->type_name("F");
    command
        .add_flag("--accept-differences", accept,
                  "use a calibration of another machine, model, precision or program, with a "
                  "warning")
        ->needs(option);
}

void add_predict_options(CLI::App& command, program::PredictArguments& predict) {
    add_one_spec(command, predict.run);
    add_calibration_options(command, predict.calibration, predict.accept_differences);
    auto* hosts = command
                      .add_option("--hosts", predict.hosts,
                                  "number of hosts; sets the number of replicas, one per rank")
                      ->type_name("H")
                      ->check(CLI::Range(1, 1 << 20));
    command.add_option("--gpus-per-node", predict.gpus_per_node, "ranks of each host (default: 1)")
        ->type_name("G")
        ->check(CLI::Range(1, 1024))
        ->needs(hosts);
    command
        .add_option("--graphs", predict.graphs,
                    "A,B,C instead of the usual graphs: TYPE, TYPE:KEY=VALUE:... or all-reduce")
        ->delimiter(',');
    command
        .add_option("--bandwidth", predict.bandwidth,
                    "bandwidth between hosts in bytes per second each way, instead of the measured "
                    "one")
        ->type_name("B")
        ->check(CLI::PositiveNumber);
    command
        .add_option("--latency", predict.latency,
                    "latency between hosts in seconds, instead of the measured one")
        ->type_name("S")
        ->check(CLI::NonNegativeNumber);
    command
        .add_option("--iterations", predict.iterations,
                    "iterations to simulate at most (default: 1000)")
        ->type_name("T")
        ->check(CLI::Range(20, 1000000));
    command.add_flag("--json", predict.json, "machine-readable output");
    command.footer(kPredictExamples);
}

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

// Throws UserError if a word of the command line names no command of `app`.
void refuse_unknown_command(const CLI::App& app, const std::string& word) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
    if (word.starts_with("-") || std::find(names.begin(), names.end(), word) != names.end()) return;
    if (word.ends_with(".json")) {
        throw base::UserError(word + ": is not a command: try dbench run " + word +
                              ", or dbench check " + word);
    }
    throw base::UserError("'" + word + "' is not a command" + base::suggest_name(word, names));
}

// Throws UserError if an argument is empty: an unset variable of a shell would otherwise change
// what the words next to it mean.
void refuse_empty_arguments(int argc, char** argv) {
    for (int k = 1; k < argc; ++k) {
        const std::string word = argv[k], before = argv[k - 1];
        const bool option = word.starts_with("--") && word.find('=') + 1 == word.size();
        if (!option && !word.empty()) continue;
        std::string what = "an argument";
        if (option) what = word.substr(0, word.size() - 1);
        if (word.empty() && k > 1 && before.starts_with("--")) what = before;
        throw base::UserError(what +
                              ": the value is empty (is a variable of the shell not set?): "
                              "give a value, or leave the option out");
    }
}

// Throws UserError if an option took the next option for its value.
void refuse_options_as_values(CLI::App& command) {
    for (const CLI::Option* option : command.get_options()) {
        if (option->get_lnames().empty()) continue;
        for (const std::string& value : option->results()) {
            if (!value.starts_with("--")) continue;
            throw base::UserError(option->get_name() + ": the value is missing (the next word is " +
                                  value + "): give a value, or leave the option out");
        }
    }
    for (CLI::App* each : command.get_subcommands()) refuse_options_as_values(*each);
}

int dispatch(int argc, char** argv) {
    refuse_empty_arguments(argc, argv);
    CLI::App app{
        "DBench trains n model replicas with centralized or decentralized SGD and records "
        "how far they drift apart."};
    app.name("dbench");
    app.require_subcommand(1);

    program::RunArguments run;
    run.command.assign(argv, argv + argc);
    auto* run_command =
        app.add_subcommand("run", "train the replicas that a spec describes, and record the run");
    run_command
        ->add_option("SPEC", run.specs,
                     "the experiment spec, a JSON file; several specs are run one after another")
        ->required();
    add_run_options(*run_command, run);
    run_command->add_flag("--overwrite", run.overwrite, "replace an existing result file");
    run_command
        ->add_flag("--resume", run.resume,
                   "continue from the newest checkpoint, or start if there is none")
        ->excludes("--overwrite");
    run_command
        ->add_flag("--accept-changed-data", run.accept_changed_data,
                   "resume even if data or files have changed since the checkpoint, and record it")
        ->needs("--resume");
    add_calibration_options(*run_command, run.calibration, run.accept_differences);
    run_command->footer(kRunExamples);

    bool check_json = false;
    auto* check_command = app.add_subcommand(
        "check",
        "check a spec without training; print it with all defaults, its memory, traffic and graph");
    check_command
        ->add_option("SPEC", run.specs,
                     "the experiment spec, a JSON file; several specs get one line each")
        ->required();
    add_run_options(*check_command, run);
    check_command->add_flag("--json", check_json, "machine-readable output");
    check_command
        ->add_option("--ranks", run.ranks,
                     "plan for this many ranks without starting them (default: the ranks that run)")
        ->type_name("R")
        ->check(CLI::Range(1, 1 << 24));
    check_command->add_flag("--activations", run.activations,
                            "estimate the memory of activations, from passes of a few samples");
    check_command
        ->add_option("--purpose", run.purposes,
                     "say whether the run can be compared with others in time, accuracy or bytes, "
                     "and what permits it; may be repeated")
        ->check(CLI::IsMember(program::purposes()))
        ->allow_extra_args(false);
    check_command->footer(kCheckExamples);

    program::CalibrateArguments calibrate;
    auto* calibrate_command = app.add_subcommand(
        "calibrate", "measure what iterations of a spec cost on these ranks, for predictions");
    add_one_spec(*calibrate_command, calibrate.run);
    calibrate_command->add_option("--output", calibrate.run.output, "the file to write")
        ->required()
        ->type_name("F");
    calibrate_command->add_flag("--overwrite", calibrate.run.overwrite, "replace an existing file");
    calibrate_command->add_flag("--quiet", calibrate.run.quiet, "print warnings and errors only");
    calibrate_command
        ->add_option("--seconds", calibrate.seconds,
                     "time for which iterations are measured (default: 20)")
        ->type_name("S")
        ->check(CLI::PositiveNumber);
    calibrate_command->footer(kCalibrateExamples);

    program::PredictArguments predict;
    auto* predict_command = app.add_subcommand(
        "predict", "predict the time of training with several graphs, without training");
    add_predict_options(*predict_command, predict);

    program::GraphArguments graph;
    auto* graph_command =
        app.add_subcommand("graph", "print a communication graph, or its proven properties");
    auto* type_option = graph_command->add_option(
        "TYPE", graph.type, "the graph; its parameters follow as --KEY VALUE (dbench list graphs)");
    graph_command
        ->add_option("--compare", graph.compare,
                     "compare several graphs: A,B,C, each of them TYPE or TYPE:KEY=VALUE:...")
        ->delimiter(',')
        ->excludes(type_option);
    graph_command->add_option("-n,--n", graph.n, "number of replicas")
        ->required()
        ->check(CLI::Range(1, 1 << 24));
    graph_command->add_option("--seed", graph.seed, "seed of random graphs");
    auto* round_option =
        graph_command
            ->add_option("--round", graph.round,
                         "of a graph that changes from round to round, print this round")
            ->check(CLI::NonNegativeNumber);
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
        ->check(CLI::Range(0.0, 0.999999));
    graph_command
        ->add_option("--gpus-per-node", graph.gpus_per_node,
                     "print the traffic between nodes with this many GPUs, one replica per GPU")
        ->check(CLI::PositiveNumber);
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
        ->check(CLI::PositiveNumber);
    graph_command->allow_extras();
    graph_command->footer(kGraphExamples);

    program::ConformArguments conform;
    auto* conform_command = app.add_subcommand(
        "conform", "compare every algorithm with a dense reference, and test its promises");
    conform_command->add_option("ALGORITHM", conform.algorithm,
                                "check this algorithm only (dbench list algorithms)");
    conform_command->add_option(
        "--graph", conform.graph,
        "TYPE or TYPE:KEY=VALUE:... (default: ring or path, as the algorithm needs)");
    conform_command->add_option("-n,--n", conform.n, "number of replicas (default: 8)")
        ->check(CLI::Range(2, 256));
    conform_command->add_flag("--quick", conform.quick,
                              "skip the checks that need thousands of iterations (bias, noise)");
    conform_command->add_flag("--json", conform.json, "machine-readable output");
    conform_command->footer(kConformExamples);

    auto* data_command = app.add_subcommand(
        "data", "pack photographs into one file, learn byte pairs, verify files");
    data_command->require_subcommand(1);
    data_command->footer(kDataExamples);
    program::PackArguments packing;
    auto* pack_command = data_command->add_subcommand(
        "pack", "pack a folder of photographs into one file with checksums");
    pack_command
        ->add_option("FOLDER", packing.folder, "the folder, with one folder of images per class")
        ->required();
    pack_command->add_option("FILE", packing.file, "the file to write")->required();
    pack_command->add_flag("--class-by-name", packing.by_name,
                           "take the class from the file name, up to its first _ or .");
    pack_command->add_flag("--force", packing.force, "replace an existing file");
    pack_command->add_flag("--quiet", packing.quiet, "do not print progress");
    pack_command->footer(kDataExamples);
    program::PiecesArguments pieces;
    auto* pieces_command = data_command->add_subcommand(
        "pieces", "learn byte pairs from training texts, and write them to a file");
    pieces_command->add_option("TEXT", pieces.texts, "files with one sentence per line")
        ->required();
    pieces_command->add_option("--output", pieces.output, "the file to write")
        ->required()
        ->type_name("F");
    pieces_command
        ->add_option("--pieces", pieces.pieces, "number of pieces, with 3 marks and 256 bytes")
        ->capture_default_str()
        ->check(CLI::Range(int64_t{data::BytePairs::kMerged}, int64_t{1} << 24));
    pieces_command->add_flag("--force", pieces.force, "replace an existing file");
    pieces_command->footer(kDataExamples);
    std::string verified;
    auto* verify_command = data_command->add_subcommand(
        "verify", "compare all checksums of a packed file, or of a file of pieces");
    verify_command->add_option("FILE", verified, "the file")->required();
    verify_command->footer(kDataExamples);

    std::string list_family;
    bool list_json = false;
    auto* list_command = app.add_subcommand("list", "print what a spec can contain, with defaults");
    list_command->add_option("NAME", list_family,
                             "a family (models, graphs, ...), a member of one (ring), a key of the "
                             "spec, spec or schema");
    list_command->add_flag("--json", list_json, "machine-readable output");
    list_command->footer(kListExamples);

    program::DoctorArguments doctor;
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
    auto* version_command = app.add_subcommand("version", "print version, build and libraries");

    if (argc > 1) refuse_unknown_command(app, argv[1]);
    if (argc > 2 && std::string(argv[1]) == "data") refuse_unknown_command(*data_command, argv[2]);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : base::kExitUser;
    }
    refuse_options_as_values(app);
    if (run_command->parsed()) program::end_on_signals_before_training();
    base::check_path_text(calibrate.run.output, "--output");
    base::check_path_text(predict.calibration, "--calibration");
    base::check_path_text(run.calibration, "--calibration");
    if (run_command->parsed() || check_command->parsed() || conform_command->parsed() ||
        calibrate_command->parsed() || predict_command->parsed()) {
        comm::World world{comm::launch()};
        try {
            program::run_on_all_ranks(world, [] { train::threads_of_environment(); });
            if (conform_command->parsed()) return program::command_conform(world, conform);
            if (calibrate_command->parsed()) return program::command_calibrate(world, calibrate);
            if (predict_command->parsed()) return program::command_predict(world, predict);
            return run_command->parsed() ? program::command_run(world, run)
                                         : program::command_check(world, run, check_json);
        } catch (const base::UserError& error) {
            // All ranks throw the same error; only rank 0 prints it.
            if (world.rank() == 0) base::report_error(error.what());
            return base::kExitUser;
        }
    }
    if (graph_command->parsed()) {
        if (graph.type.empty() && graph.compare.empty()) {
            throw base::UserError("graph: TYPE is missing (dbench list graphs), or --compare A,B");
        }
        graph.parameters = graph_parameters(graph_command->remaining());
        return program::command_graph(graph);
    }
    base::check_path_text(packing.file, "FILE");
    base::check_path_text(pieces.output, "--output");
    base::check_path_text(doctor.links, "--links");
    if (pack_command->parsed()) return program::command_data_pack(packing);
    if (pieces_command->parsed()) return program::command_data_pieces(pieces);
    if (verify_command->parsed()) return program::command_data_verify(verified);
    if (list_command->parsed()) return program::command_list(list_family, list_json);
    if (doctor_command->parsed()) return program::command_doctor(doctor);
    if (version_command->parsed()) return program::command_version();
    return base::kExitUser;
}

int command(int argc, char** argv) {
    try {
        return dispatch(argc, argv);
    } catch (const base::UserError& error) {
        base::report_error(error.what());
        return base::kExitUser;
    } catch (const std::filesystem::filesystem_error& error) {
        base::report_error(error.path1().string() + ": cannot be used (" + error.code().message() +
                           "): check the path and its permissions");
        return base::kExitUser;
    } catch (const std::exception& error) {
        const bool memory = program::is_out_of_memory(error);
        base::report_error(memory ? program::memory_message(error) : base::reason_of(error));
        return memory ? base::kExitUser : base::kExitFailed;
    }
}

/// Ends the process without running the destructors of static objects. LibTorch's static
/// destructors take a third of the time of a short command and only free memory that the system
/// reclaims anyway. This is safe: the command has already destroyed every object that holds files,
/// locks, threads or MPI, HDF5 is configured not to close anything at exit, and MPI's own exit
/// handlers still run. Builds with sanitizers exit normally, since leak detection runs after the
/// static destructors.
[[noreturn]] void leave(int status) {
    const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;  // std::cout's too
    if (!written && status == 0) {
        base::report_error("cannot write all to standard output (no space, or it is closed)");
        status = base::kExitFailed;
    }
#ifdef DBENCH_SANITIZED
    std::exit(status);
#else
    comm::leave(status);
#endif
}

}  // namespace

int main(int argc, char** argv) { leave(command(argc, argv)); }
