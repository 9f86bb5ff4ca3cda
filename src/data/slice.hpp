#pragma once
// A range of the samples of another set, for `limit` and `validation`.

#include <cstdint>
#include <memory>

#include "data/dataset.hpp"

namespace dbench::data {

/// Returns samples first .. first + count - 1 of `whole`, renumbered from 0.
std::shared_ptr<const Dataset> slice(std::shared_ptr<const Dataset> whole, int64_t first,
                                     int64_t count);

}  // namespace dbench::data
