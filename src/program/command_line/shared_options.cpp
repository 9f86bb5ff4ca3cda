#include "program/command_line/shared_options.hpp"

#include <charconv>
#include <string>
#include <system_error>

namespace dbench::program {

namespace {

// Returns a validator of texts that are completely a Number from `least` to `most`.
template <class Number>
CLI::Validator validator_between(Number least, Number most, const std::string& kind) {
    const auto error = [=](const std::string& text) -> std::string {
        Number value{};
        const char* end = text.data() + text.size();
        const auto read = std::from_chars(text.data(), end, value);
        if (read.ec == std::errc() && read.ptr == end && value >= least && value <= most) return "";
        char first[32], last[32];
        *std::to_chars(first, first + 31, least).ptr = 0;
        *std::to_chars(last, last + 31, most).ptr = 0;
        return text.substr(0, 100) + " is not possible: give " + kind + " from " + first + " to " +
               last;
    };
    return CLI::Validator(error, "");
}

}  // namespace

CLI::Validator number_between(double least, double most) {
    return validator_between(least, most, "a number");
}

CLI::Validator whole_number_between(uint64_t least, uint64_t most) {
    return validator_between(least, most, "a whole number");
}

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
