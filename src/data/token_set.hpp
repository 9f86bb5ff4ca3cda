#pragma once
// Texts as samples: a sequence of tokens cut into windows.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.hpp"

namespace dbench::data {

/// Windows of `length` tokens, one after another; the label of a position is the token that
/// follows it. What is left at the end, less than a window and the token after it, is in none.
/// Tokens are from 0 to below `vocabulary`. Throws UserError where there is not even one window;
/// `path` names the file.
std::shared_ptr<const Dataset> token_set(std::vector<int32_t> tokens, int64_t vocabulary,
                                         int64_t length, const std::string& path);

/// The parameter `sequence`.
base::Parameter sequence_parameter();

}  // namespace dbench::data
