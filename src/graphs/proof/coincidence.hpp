#pragma once
// Named graphs that are one graph at a given number of replicas, such as ring and torus at n = 4.

#include <string>
#include <vector>

#include "base/json.hpp"
#include "graphs/schedule.hpp"

namespace dbench::graphs {

/// True if one numbering of the replicas turns the first matrix of `a` into that of `b`, weights
/// included. False also if the search takes too long, which happens only on large graphs that look
/// alike everywhere.
bool same_up_to_numbering(const Schedule& a, const Schedule& b);

/// A named graph that cannot be told from another one.
struct Coincidence {
    std::string name;
    /// True if it is the same graph up to the numbering of the replicas. False if only its degree
    /// and the moduli of its eigenvalues are the same, so that one averaging reduces disagreement
    /// equally.
    bool same;
};

/// Returns the named static graphs (other types, with the weights and the laziness of `spec`) with
/// which `schedule`, made from the resolved `spec`, coincides. Empty for sequences, for lists, and
/// for more than 2048 replicas.
std::vector<Coincidence> coincidences(const Schedule& schedule, const base::Json& spec);

/// Returns the sentence that tells a user about `found`, at `n` replicas; empty if there is none.
std::string coincidence_text(const std::string& type, int n, const std::vector<Coincidence>& found);

}  // namespace dbench::graphs
