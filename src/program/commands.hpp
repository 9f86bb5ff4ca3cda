#pragma once
// The subcommands (docs/command-line.md). Each returns the exit status; errors are thrown.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/world/world.hpp"
#include "program/setup.hpp"

namespace dbench::bench {

int command_run(comm::World& world, const RunArguments& arguments);
int command_check(comm::World& world, const RunArguments& arguments, bool json);

struct GraphArguments {
    std::string type;
    int n = 0;
    std::vector<std::pair<std::string, std::string>> parameters;  ///< --KEY VALUE
    uint64_t seed = 1;
    bool json = false, matrix = false, edges = false, dot = false;
    int64_t round = 0;
    std::string rounds;                ///< "A:B", A to B - 1: instead of one round
    std::string algorithm;             ///< NAME or NAME:KEY=VALUE:...: its growth on the graph
    double gamma = 0.951;              ///< of the effective neighbours
    int gpus_per_node = 0;             ///< 0: traffic between nodes is not asked for
    std::string placement = "linear";  ///< of replicas on GPUs
    std::string links;                 ///< a file of links; empty: costs are not asked for
    double model_bytes = 0;            ///< 0: not given, traffic is in models
    std::vector<std::string> compare;  ///< TYPE or TYPE:KEY=VALUE:..., instead of one type
};
int command_graph(const GraphArguments& arguments);

struct ConformArguments {
    std::string algorithm;  ///< empty: all
    std::string graph;      ///< TYPE:KEY=VALUE:...; empty: a ring
    int n = 8;
    bool quick = false, json = false;
};
/// Collective. Status 1 where a check failed.
int command_conform(comm::World& world, const ConformArguments& arguments);

struct PackArguments {
    std::string folder, file;
    bool by_name = false;  ///< classes by the files' names, not by folders
    bool force = false, quiet = false;
};
int command_data_pack(const PackArguments& arguments);
struct PiecesArguments {
    std::vector<std::string> texts;  ///< a sentence a line
    std::string output;
    int64_t pieces = 4000;
    bool force = false;
};
/// Learns byte pairs on texts, and writes them into a file.
int command_data_pieces(const PiecesArguments& arguments);
/// Compares all checksums of a pack, or of a file of pieces.
int command_data_verify(const std::string& file);

int command_list(const std::string& family, bool json);
/// `links`: the file that links between ranks are measured for; empty: none.
int command_doctor(const std::string& path, const std::string& links);
int command_version();

}  // namespace dbench::bench
