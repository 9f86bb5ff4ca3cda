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

/// Writes to `keys` the keys that an object of this `type` may hold at `pointer`. Returns false,
/// and leaves `keys` unchanged, if no family belongs to the pointer.
bool family_keys(const std::string& pointer, const std::string& type,
                 std::vector<std::string>& keys);

}  // namespace dbench::program
