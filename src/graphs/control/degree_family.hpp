#pragma once
// Graphs of one family in the order of their degree: the ladder that controllers walk on.

#include <memory>
#include <string>
#include <vector>

#include "graphs/types/families.hpp"

namespace dbench::graphs {

/// ring_lattice (k even, k/2 neighbours on either side), exponential (the first k offsets 1, 2, 4,
/// ..., weights 1/(k+1)), random_regular (degree k) or base_k (at most k peers a round).
class DegreeFamily {
public:
    DegreeFamily(const std::string& name, const GraphContext& context, const std::string& pointer);

    /// The least k of the family at n that is at least `wanted`; the largest where none is.
    int64_t at_least(int64_t wanted) const;
    /// All k from at_least(low) to at_least(high), ascending.
    std::vector<int64_t> between(int64_t low, int64_t high) const;
    std::unique_ptr<Schedule> make(int64_t k) const;
    /// "ring_lattice k=8".
    std::string title(int64_t k) const;

private:
    std::string name_;
    GraphContext context_;
    std::string pointer_;
    int64_t step_ = 1, least_ = 1, most_ = 1;  // k = least_, least_ + step_, ..., most_
};

/// The key `family`.
base::Parameter family_parameter();

}  // namespace dbench::graphs
