#pragma once
// The command line of dbench: its subcommands, their options and the command that was chosen
// (docs/command-line.md).

#include <functional>
#include <string>

#include "comm/world/world.hpp"
#include "program/commands.hpp"

namespace CLI {
class App;
}

namespace dbench::program {

/// The arguments of all subcommands, and the subcommand that was given. Parsing sets one of the two
/// functions, which return the exit status.
struct CommandLine {
    RunArguments run;  ///< `run` and `check` share them.
    bool check_json = false;
    CalibrateArguments calibrate;
    PredictArguments predict;
    GraphArguments graph;
    ConformArguments conform;
    PackArguments packing;
    PiecesArguments pieces;
    std::string verified;
    std::string list_family;
    bool list_json = false;
    DoctorArguments doctor;

    std::function<int(comm::World&)> collective;  ///< Runs a command on all ranks.
    std::function<int()> alone;                   ///< Runs a command of one process.
};

/// Each function adds subcommands to the parser. `line` receives what is parsed, and must outlive
/// `app`.
void add_training_commands(CLI::App& app, CommandLine& line);    ///< run, check
void add_prediction_commands(CLI::App& app, CommandLine& line);  ///< calibrate, predict
void add_data_commands(CLI::App& app, CommandLine& line);        ///< data
/// graph, conform, list, doctor, version
void add_inspection_commands(CLI::App& app, CommandLine& line);

}  // namespace dbench::program
