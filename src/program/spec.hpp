#pragma once
// The experiment spec: reading, overriding, defaults (docs/spec.md).

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "train/spec/run_spec.hpp"

namespace dbench::bench {

/// A spec with every default filled in and every key checked, as `dbench check` prints it and the
/// result file stores it. What stands behind shorthands is spelled out beside it.
struct Spec {
    base::Json resolved;
    train::RunSpec run;    ///< its keys outside the families
    base::Json algorithm;  ///< resolved, also where `implementation` names it
    base::Json graph;      ///< resolved; null for algorithms that take no graph
    std::string output;    ///< /output with {name} filled in
};

/// The five implementations of the DBench paper by name: algorithm and graph.
struct Implementation {
    const char* name;
    const char* algorithm;  ///< JSON text
    const char* graph;      ///< JSON text; null for none
    const char* help;
};
const std::vector<Implementation>& implementations();

/// The keys that stand beside those of train::RunSpec: the families, and what concerns files.
const std::vector<base::Parameter>& outer_parameters();
/// Both together: every key at the top of a spec.
std::vector<base::Parameter> spec_parameters();

/// Reads `path` with its chain of "base" files, then applies `settings` ("graph.type=torus") in
/// order. Throws UserError; notices tell of keys dropped by a changed type.
base::Json read_spec(const std::string& path, const std::vector<std::string>& settings);

/// A spec from its parts as they were resolved (on another rank).
Spec spec_of(base::Json resolved, base::Json algorithm, base::Json graph, std::string output);

/// Checks and completes. `default_name` is used where the spec has no name. Throws UserError.
Spec resolve_spec(const base::Json& given, const std::string& default_name);

}  // namespace dbench::bench
