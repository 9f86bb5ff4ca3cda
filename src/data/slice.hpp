#pragma once
// A range of another set's samples: `limit` and `validation`.

#include <cstdint>
#include <memory>

#include "data/dataset.hpp"

namespace dbench::data {

/// Samples first .. first + count - 1 of `whole`, renumbered from 0.
std::shared_ptr<const Dataset> slice(std::shared_ptr<const Dataset> whole, int64_t first,
                                     int64_t count);

}  // namespace dbench::data
