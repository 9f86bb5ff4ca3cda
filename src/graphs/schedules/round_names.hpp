#pragma once
// Names (numbers) of the rounds of schedules that are made of other schedules. A name encodes which
// part a round belongs to and the round's name in that part, to any depth of nesting and for any
// number of parts.

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

/// Encodes a part and a name as one number that no other pair has; split_name() decodes it. The
/// high bits hold the name; the low bits hold part + 1 in Elias' gamma code (z zeros, a one, the
/// last z bits of part + 1), which is self-delimiting. Throws UserError if 64 bits are too few.
inline uint64_t join_names(PartName of) {
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

/// Decodes a number that join_names() returned.
inline PartName split_name(uint64_t joined) {
    DBENCH_EXPECT(joined != 0);
    const int z = std::countr_zero(joined);
    const uint64_t above = joined >> (z + 1), one = uint64_t{1} << z;
    return {(one | (above & (one - 1))) - 1, above >> z};
}

}  // namespace dbench::graphs
