#pragma once
// The subcommands of dbench (docs/command-line.md) and their arguments, which command_line/ parses.
// Each function returns the exit status of the process and throws on errors.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/world/world.hpp"
#include "program/prepare_run.hpp"

namespace dbench::program {

/// Until training begins, a signal ends the process at once, with the status of a run that --resume
/// continues, and a message that says what is kept. `spec` names the second or a later spec of a
/// start.
void end_on_signals_before_training(const std::string& spec = "");
/// Trains what the specs describe, one spec after another. Collective.
int command_run(comm::World& world, const RunArguments& arguments);
/// Checks the specs without training and prints what a run would need. Collective.
int command_check(comm::World& world, const RunArguments& arguments, bool json);

/// The arguments of `dbench calibrate`.
struct CalibrateArguments {
    RunArguments run;     ///< the spec, --set, and the file that is written
    double seconds = 20;  ///< of the measured iterations
};
/// Measures what iterations of the spec cost on these ranks, and writes it to a file. Collective.
int command_calibrate(comm::World& world, const CalibrateArguments& arguments);

/// The arguments of `dbench predict`.
struct PredictArguments {
    RunArguments run;                 ///< the spec and --set
    std::string calibration;          ///< a file of `dbench calibrate`; empty: measure briefly
    bool accept_differences = false;  ///< use a calibration of another machine, model, ...
    int hosts = 0;                    ///< 0: as the calibration, or one host
    int gpus_per_node = 1;            ///< ranks of each host
    std::vector<std::string> graphs;  ///< TYPE or TYPE:KEY=VALUE:..., or all-reduce
    std::optional<double> bandwidth;  ///< between hosts, bytes per second each way
    std::optional<double> latency;    ///< between hosts, seconds
    int64_t iterations = 1000;        ///< most iterations to simulate
    bool json = false;
};
/// Predicts the time of training without training.
int command_predict(comm::World& world, const PredictArguments& arguments);

/// The arguments of `dbench graph`.
struct GraphArguments {
    std::string type;
    int n = 0;
    std::vector<std::pair<std::string, std::string>> parameters;  ///< --KEY VALUE
    uint64_t seed = 1;
    bool json = false, matrix = false, edges = false, dot = false;
    int64_t round = 0;
    std::string rounds;                ///< "A:B": rounds A to B - 1 instead of one round
    std::string algorithm;             ///< NAME or NAME:KEY=VALUE:...; its growth is printed
    double gamma = 0.951;              ///< decay in the effective number of neighbours
    int gpus_per_node = 0;             ///< 0: do not print the traffic between nodes
    std::string placement = "linear";  ///< of replicas on GPUs
    std::string links;                 ///< a file of links; empty: do not print their cost
    double model_bytes = 0;            ///< 0: not given, traffic is counted in models
    std::vector<std::string> compare;  ///< TYPE or TYPE:KEY=VALUE:..., instead of `type`
};
/// Prints a graph, or its certificate, traffic and costs.
int command_graph(const GraphArguments& arguments);

/// The arguments of `dbench conform`.
struct ConformArguments {
    std::string algorithm;  ///< empty: all algorithms
    std::string graph;      ///< TYPE:KEY=VALUE:...; empty: a ring or path, as the algorithm needs
    int n = 8;              ///< number of replicas
    bool quick = false, json = false;
};
/// Compares algorithms with their dense references. Returns 1 if a check fails. Collective.
int command_conform(comm::World& world, const ConformArguments& arguments);

/// The arguments of `dbench data pack`.
struct PackArguments {
    std::string folder, target;
    bool by_name = false;   ///< the class is part of the file name instead of being the folder
    bool compress = false;  ///< copy files of any kind, compressed, instead of packing photographs
    bool force = false, quiet = false;
};
/// Packs a folder of photographs into one file, or compresses the files of a folder into another.
int command_data_pack(const PackArguments& arguments);
/// The arguments of `dbench data pieces`.
struct PiecesArguments {
    std::vector<std::string> texts;  ///< files with one sentence per line
    std::string output;
    int64_t pieces = 4000;  ///< size of the vocabulary
    bool force = false;
};
/// Learns byte pairs from texts and writes them to a file.
int command_data_pieces(const PiecesArguments& arguments);
/// Verifies all checksums of a packed file, or of a file of pieces.
int command_data_verify(const std::string& file);

/// Prints what a spec can name; `family` may be empty, a family, a member or a key.
int command_list(const std::string& family, bool json);
/// The arguments of `dbench doctor`.
struct DoctorArguments {
    std::string path;    ///< a result file or a folder; empty: this machine
    std::string links;   ///< if not empty, measure the links of all ranks and write this file
    bool force = false;  ///< replace an existing file of links
};
/// Reports on this machine, a result file or a folder, or measures links.
int command_doctor(const DoctorArguments& arguments);
/// Returns the versions of the program and its libraries, a line each, without the last line's end.
std::string version_text();
/// Prints version_text().
int command_version();

}  // namespace dbench::program
