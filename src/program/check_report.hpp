#pragma once
// Prints the plan of a run, as text and as JSON, for `dbench check`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "comm/placement.hpp"
#include "program/prepare_run.hpp"
#include "program/purposes.hpp"
#include "train/run/session.hpp"

namespace dbench::program {

/// The run on the ranks for which `check` plans it.
struct Planned {
    comm::Placement placement;
    train::Estimates estimates;
    std::optional<int64_t> activation_bytes;  ///< empty: not requested, or not known
    LocalRanks local;  ///< if the run would be started as this command was; else unknown

    std::vector<Hindrance> hindrances(const PreparedRun& s, const std::string& purpose) const {
        return program::hindrances(purpose, s, placement, local);
    }
};

/// Returns the bytes of all rows of the result file before compression.
int64_t planned_result_bytes(const PreparedRun& run, const Planned& plan);

/// Prints the resolved spec, and a table of memory, traffic, graph and, for each purpose in
/// `wanted`, of what hinders a comparison.
void print_check(const PreparedRun& run, const Planned& plan,
                 const std::vector<std::string>& wanted);

/// Returns the output of `dbench check --json` (docs/command-line.md).
base::Json check_json(const PreparedRun& run, const Planned& plan,
                      const std::vector<std::string>& warnings);

/// Returns the line that describes one of several specs.
std::string check_summary(const PreparedRun& run, const Planned& plan);

}  // namespace dbench::program
