#pragma once
// Graphs of one family ordered by degree: the candidates among which controllers choose.

#include <memory>
#include <string>
#include <vector>

#include "graphs/types/families.hpp"

namespace dbench::graphs {

/// A family: ring_lattice (k even, k/2 neighbours on either side), exponential (the first k offsets
/// 1, 2, 4, ..., weights 1/(k+1)), random_regular (degree k) or base_k (at most k peers per round).
class DegreeFamily {
public:
    DegreeFamily(const std::string& name, const GraphContext& context, const std::string& pointer);

    /// Returns the smallest k of the family at n that is at least `wanted`, or the largest k if
    /// there is none.
    int64_t at_least(int64_t wanted) const;
    /// Returns all k from at_least(low) to at_least(high), ascending.
    std::vector<int64_t> between(int64_t low, int64_t high) const;
    std::unique_ptr<Schedule> make(int64_t k) const;
    /// Returns a label for people, such as "ring_lattice k=8".
    std::string title(int64_t k) const;

private:
    std::string name_;
    GraphContext context_;
    std::string pointer_;
    int64_t step_ = 1, least_ = 1, most_ = 1;  // k is one of least_, least_ + step_, ..., most_
};

/// The spec key `family`.
base::Parameter family_parameter();

}  // namespace dbench::graphs
