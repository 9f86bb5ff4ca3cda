#pragma once
// Every table that a spec's families come from.

#include <string>
#include <vector>

#include "base/family.hpp"

namespace dbench::bench {

/// "graphs", "models", ... as `dbench list` names them; with the JSON pointer where it stands.
struct Family {
    std::string plural, singular, pointer;
    std::vector<const base::Entry*> entries;
};
const std::vector<Family>& families();
const Family& family(const std::string& plural);

/// Keys that may stand in an object at `pointer` with this `type`; empty and false where the
/// pointer is no family's.
bool family_keys(const std::string& pointer, const std::string& type,
                 std::vector<std::string>& keys);

}  // namespace dbench::bench
