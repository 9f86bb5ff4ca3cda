#include "program/command_line/shared_options.hpp"

namespace dbench::program {

void add_settings(CLI::App& command, RunArguments& arguments) {
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

}  // namespace dbench::program
