#include <CLI/CLI.hpp>

#include "program/command_line/command_line.hpp"
#include "program/command_line/shared_options.hpp"

namespace dbench::program {
namespace {

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

void add_one_spec(CLI::App& command, RunArguments& arguments) {
    command.add_option("SPEC", arguments.specs, "the experiment spec, a JSON file")
        ->required()
        ->expected(1);
    add_settings(command, arguments);
}

void add_calibrate(CLI::App& app, CommandLine& line) {
    CalibrateArguments& calibrate = line.calibrate;
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
        ->check(number_between(0.01, 1e6));
    calibrate_command->footer(kCalibrateExamples);
    calibrate_command->callback([&line] {
        line.collective = [&line](comm::World& world) {
            return command_calibrate(world, line.calibrate);
        };
    });
}

void add_predict(CLI::App& app, CommandLine& line) {
    PredictArguments& predict = line.predict;
    CLI::App& command = *app.add_subcommand(
        "predict", "predict the time of training with several graphs, without training");
    add_one_spec(command, predict.run);
    add_calibration_options(command, predict.calibration, predict.accept_differences);
    auto* hosts = command
                      .add_option("--hosts", predict.hosts,
                                  "number of hosts; sets the number of replicas, one per rank")
                      ->type_name("H")
                      ->check(whole_number_between(1, 1 << 20));
    command.add_option("--gpus-per-node", predict.gpus_per_node, "ranks of each host (default: 1)")
        ->type_name("G")
        ->check(whole_number_between(1, 1024))
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
        ->check(number_between(1, 1e15));
    command
        .add_option("--latency", predict.latency,
                    "latency between hosts in seconds, instead of the measured one")
        ->type_name("S")
        ->check(number_between(0, 1e4));
    command
        .add_option("--iterations", predict.iterations,
                    "iterations to simulate at most (default: 1000)")
        ->type_name("T")
        ->check(whole_number_between(20, 1000000));
    command.add_flag("--json", predict.json, "machine-readable output");
    command.footer(kPredictExamples);
    command.callback([&line] {
        line.collective = [&line](comm::World& world) {
            return command_predict(world, line.predict);
        };
    });
}

}  // namespace

void add_prediction_commands(CLI::App& app, CommandLine& line) {
    add_calibrate(app, line);
    add_predict(app, line);
}

}  // namespace dbench::program
