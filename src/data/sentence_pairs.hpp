#pragma once
// Pairs of sentences as samples, and batches of pairs that are about as long.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/byte_pairs.hpp"
#include "data/dataset.hpp"

namespace dbench::data {

/// A ragged set: line k of `targets` translates line k of `sources`, both in these pieces.
std::shared_ptr<const Dataset> sentence_pairs(const std::vector<std::string>& sources,
                                              const std::vector<std::string>& targets,
                                              std::shared_ptr<const BytePairs> pieces);

/// Batches of a ragged set as samples: pairs sorted by their longer sentence, and in the set's
/// order where these are equal, are cut into batches as large as can be, of at most `tokens` on
/// each side with the padding. Throws UserError where a pair is longer.
std::shared_ptr<const Dataset> bucketed(std::shared_ptr<const Dataset> pairs, int64_t tokens);

}  // namespace dbench::data
