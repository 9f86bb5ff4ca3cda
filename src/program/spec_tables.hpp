#pragma once
// The list of all families of a spec, with their tables.

#include <string>
#include <vector>

#include "base/family.hpp"

namespace dbench::program {

/// One family, such as the graphs.
struct Family {
    std::string plural, singular, pointer;  ///< two names for `dbench list`; JSON pointer in specs
    std::vector<const base::Entry*> entries;
};
const std::vector<Family>& families();
/// Returns the family with this plural, which must exist.
const Family& family(const std::string& plural);

/// Returns the family whose members stand at this JSON pointer, or null.
const Family* family_at(const std::string& pointer);

/// Returns the keys that a member of this `type` may hold in addition to `type`.
std::vector<std::string> member_keys(const Family& family, const std::string& type);
/// Returns the family of the values of `key` of a member of this `type`, or null: a graph can hold
/// another graph.
const Family* family_inside(const Family& family, const std::string& type, const std::string& key);

}  // namespace dbench::program
