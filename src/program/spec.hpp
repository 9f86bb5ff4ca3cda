#pragma once
// The experiment spec: reads spec files, applies overrides and fills in defaults (docs/spec.md).

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "train/spec/run_spec.hpp"

namespace dbench::program {

/// A resolved spec: every default is filled in and every key is checked.
struct Spec {
    base::Json resolved;   ///< as `dbench check` prints it and the result file stores it
    train::RunSpec run;    ///< its keys outside the families
    base::Json algorithm;  ///< resolved, also if only `implementation` names it
    base::Json graph;      ///< resolved, also if only `implementation` names it; null if unused
    std::string output;    ///< /output with {name} filled in
};

/// A shorthand for an algorithm and a graph.
struct Implementation {
    const char* name;
    const char* algorithm;  ///< JSON text
    const char* graph;      ///< JSON text; null if the algorithm uses no graph
    const char* help;
};
/// Returns the five implementations that the DBench paper names.
const std::vector<Implementation>& implementations();

/// Returns the top-level keys that train::RunSpec does not have: the families, `implementation` and
/// `base`.
const std::vector<base::Parameter>& outer_parameters();
/// Returns every top-level key of a spec.
std::vector<base::Parameter> spec_parameters();

/// Reads `path` with its chain of "base" files, then applies `settings` ("graph.type=torus") in
/// order. Prints a notice for keys that a changed type drops. Throws UserError.
base::Json read_spec(const std::string& path, const std::vector<std::string>& settings);

/// Returns the path of the result file, with {name} filled in. Throws UserError, which begins with
/// `where`, if the path has another placeholder or the notation of a shell.
std::string output_path(std::string output, const std::string& name, const std::string& where);

/// Assembles a spec from parts that another rank has resolved.
Spec assemble_spec(base::Json resolved, base::Json algorithm, base::Json graph, std::string output);

/// Checks the spec and fills in defaults. `default_name` is used if the spec has no name. Throws
/// UserError that names the JSON pointer.
Spec resolve_spec(const base::Json& given, const std::string& default_name);

}  // namespace dbench::program
