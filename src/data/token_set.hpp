#pragma once
// A data set of a text: a sequence of tokens divided into windows.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.hpp"

namespace dbench::data {

/// Returns a set of consecutive windows of `length` tokens; the label of a position is the next
/// token. The tokens after the last full window (and its last label) are not used. Tokens are below
/// `vocabulary`. Throws UserError if there is not even one window; `path` names the file.
std::shared_ptr<const Dataset> token_set(std::vector<int32_t> tokens, int64_t vocabulary,
                                         int64_t length, const std::string& path);

/// Returns the parameter `sequence`.
base::Parameter sequence_parameter();

}  // namespace dbench::data
