#pragma once
// The points of a sweep, all of which `dbench check` checks in one start.

#include <string>
#include <vector>

#include "program/prepare_run.hpp"

namespace dbench::program {

/// Reads the points of a sweep from a JSON file, or from standard input if `path` is "-": a list of
/// objects with the keys "set", an object from JSON pointers to the values that the point sets in
/// the spec, as --set does, and optionally "ranks", the ranks to plan for. Returns `common` for
/// each point, with its settings added and its ranks. Throws UserError that names the point.
std::vector<RunArguments> read_points(const std::string& path, const RunArguments& common);

}  // namespace dbench::program
