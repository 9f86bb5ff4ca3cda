#pragma once
// Options that several subcommands share.

#include <CLI/CLI.hpp>
#include <cstdint>

#include "program/commands.hpp"

namespace dbench::program {

/// Accepts finite numbers from `least` to `most`. The error about others names this range.
CLI::Validator number_between(double least, double most);
/// Accepts whole numbers from `least` to `most`, in decimal digits.
CLI::Validator whole_number_between(uint64_t least, uint64_t most);

/// Adds --set.
void add_settings(CLI::App& command, RunArguments& arguments);
/// Adds --calibration and --accept-differences.
void add_calibration_options(CLI::App& command, std::string& calibration, bool& accept);

}  // namespace dbench::program
