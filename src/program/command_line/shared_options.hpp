#pragma once
// Options that several subcommands share.

#include <CLI/CLI.hpp>

#include "program/commands.hpp"

namespace dbench::program {

/// Adds --set.
void add_settings(CLI::App& command, RunArguments& arguments);
/// Adds --calibration and --accept-differences.
void add_calibration_options(CLI::App& command, std::string& calibration, bool& accept);

}  // namespace dbench::program
