#include <CLI/CLI.hpp>

#include "program/command_line/command_line.hpp"
#include "program/command_line/shared_options.hpp"
#include "program/purposes.hpp"

namespace dbench::program {
namespace {

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
  dbench check sweep/*.json           print a summary or an error for each spec
  echo '[{"set": {"/seed": 1}}, {"set": {"/seed": 2}, "ranks": 8}]' |
      dbench check spec.json --points - --json     check many points of a sweep in one start)";

void add_run_options(CLI::App& command, RunArguments& arguments) {
    add_settings(command, arguments);
    command
        .add_option("--output", arguments.output,
                    "the result file; with several specs, the folder for their result files")
        ->type_name("F");
    command.add_flag("--quiet", arguments.quiet,
                     "print warnings and errors only, no progress and no notices");
}

void add_run(CLI::App& app, CommandLine& line) {
    RunArguments& run = line.run;
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
    run_command->callback([&line] {
        end_on_signals_before_training();
        line.collective = [&line](comm::World& world) { return command_run(world, line.run); };
    });
}

void add_check(CLI::App& app, CommandLine& line) {
    RunArguments& run = line.run;
    auto* check_command = app.add_subcommand(
        "check",
        "check a spec without training; print it with all defaults, its memory, traffic and graph");
    check_command
        ->add_option("SPEC", run.specs,
                     "the experiment spec, a JSON file; several specs get one line each")
        ->required();
    add_run_options(*check_command, run);
    check_command->add_flag("--json", line.check_json, "machine-readable output");
    check_command
        ->add_option("--ranks", run.ranks,
                     "plan for this many ranks without starting them (default: the ranks that run)")
        ->type_name("R")
        ->check(whole_number_between(1, 1 << 24));
    check_command->add_flag("--activations", run.activations,
                            "estimate the memory of activations, from passes of a few samples");
    check_command
        ->add_option("--purpose", run.purposes,
                     "say whether the run can be compared with others in time, accuracy or bytes, "
                     "and what permits it; may be repeated")
        ->check(CLI::IsMember(purposes()))
        ->allow_extra_args(false);
    check_command
        ->add_option("--points", run.points,
                     "check the spec at every point of a sweep: a JSON list of {\"set\": {POINTER: "
                     "VALUE}, \"ranks\": R}; - reads standard input")
        ->type_name("F");
    check_command->footer(kCheckExamples);
    check_command->callback([&line] {
        line.collective = [&line](comm::World& world) {
            return command_check(world, line.run, line.check_json);
        };
    });
}

}  // namespace

void add_training_commands(CLI::App& app, CommandLine& line) {
    add_run(app, line);
    add_check(app, line);
}

}  // namespace dbench::program
