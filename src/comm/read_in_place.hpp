#pragma once

namespace dbench::comm {

/// Returns true if the environment variable DBENCH_READ_IN_PLACE is 0, so that ranks of a host
/// exchange messages instead of reading each other's rows in place. Throws UserError if it is
/// neither 0 nor 1.
bool reading_in_place_disabled();

}  // namespace dbench::comm
