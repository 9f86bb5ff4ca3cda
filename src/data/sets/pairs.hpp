#pragma once
// Parallel texts in two languages, for the data sets that translate.

#include <string>
#include <vector>

#include "data/dataset.hpp"

namespace dbench::data {

/// Line k of `target` translates line k of `source`.
struct ParallelText {
    std::vector<std::string> source, target;
};

/// Returns the lines of a text.
std::vector<std::string> lines_of(const std::vector<uint8_t>& text);

/// Returns `parameters` followed by `vocabulary` and `pieces`.
std::vector<base::Parameter> with_vocabulary(std::vector<base::Parameter> parameters);

/// Adds data sets of pairs of sentences to `sets`. All texts use one vocabulary for both languages,
/// which is learnt on `train` or read from the file of /data/pieces; its digest is added to the
/// checksums. Adds no validation set if `validation` is empty.
void add_pairs(DataSets& sets, const base::Json& spec, const ParallelText& train,
               const ParallelText& validation, const ParallelText& test);

}  // namespace dbench::data
