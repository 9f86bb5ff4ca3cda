#pragma once
// Names of rounds of schedules that are made of others. A name has to hold which part it is of and
// the part's own name, however deep parts lie in one another and however many there are.

#include <bit>
#include <cstdint>

#include "base/error.hpp"

namespace dbench::graphs {

/// Matrix `name` of part number `part`.
struct PartName {
    uint64_t part;
    uint64_t name;
    bool operator==(const PartName&) const = default;
};

/// One number for both, from which `parted` gives them back, so that no two pairs share one: the
/// name above, below it part + 1 in Elias' gamma code (z zeros, a one, the z bits behind the first
/// one of part + 1), whose end can be told. Throws UserError where 64 bits do not hold it.
inline uint64_t joined(PartName of) {
    const uint64_t number = of.part + 1;
    const int z = std::bit_width(number) - 1;
    if (number == 0 || 2 * z + 1 > 63 || of.name >> (63 - 2 * z) != 0) {
        throw base::UserError("/graph: its round " + std::to_string(of.name) +
                              " is too far, or its parts are too many, to be told apart: use a "
                              "shorter run, or fewer graphs inside one another");
    }
    const uint64_t rest = number - (uint64_t{1} << z);
    return (((of.name << z) | rest) << (z + 1)) | (uint64_t{1} << z);
}

inline PartName parted(uint64_t joined) {
    DBENCH_EXPECT(joined != 0);
    const int z = std::countr_zero(joined);
    const uint64_t above = joined >> (z + 1), one = uint64_t{1} << z;
    return {(one | (above & (one - 1))) - 1, above >> z};
}

}  // namespace dbench::graphs
