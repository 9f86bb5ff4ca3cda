#pragma once
// Data sets of pairs of sentences, and batches of pairs of similar length.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/byte_pairs.hpp"
#include "data/dataset.hpp"

namespace dbench::data {

/// Returns a ragged set: line k of `targets` translates line k of `sources`; both are encoded with
/// `pieces`.
std::shared_ptr<const Dataset> sentence_pairs(const std::vector<std::string>& sources,
                                              const std::vector<std::string>& targets,
                                              std::shared_ptr<const BytePairs> pieces);

/// Returns a set whose samples are batches ("buckets") of a ragged set. Pairs are sorted by the
/// length of their longer sentence (ties keep the order of the set) and divided into batches that
/// are as large as possible, with at most `tokens` tokens per side including padding. Throws
/// UserError if one pair is longer.
std::shared_ptr<const Dataset> bucketed(std::shared_ptr<const Dataset> pairs, int64_t tokens);

}  // namespace dbench::data
