#pragma once
// Texts of two languages, line by line.

#include <string>
#include <vector>

#include "data/dataset.hpp"

namespace dbench::data {

/// Line k of `target` translates line k of `source`.
struct ParallelText {
    std::vector<std::string> source, target;
};

/// The lines of a text.
std::vector<std::string> lines_of(const std::vector<uint8_t>& text);

/// `parameters`, and after them `vocabulary` and `pieces`.
std::vector<base::Parameter> with_vocabulary(std::vector<base::Parameter> parameters);

/// Makes pairs of sentences of each text, in pieces of one vocabulary of both languages, learnt on
/// `train` or taken from the file of /data/pieces; no validation set where that text is empty. The
/// vocabulary's digest joins the checksums.
void add_pairs(DataSets& sets, const base::Json& spec, const ParallelText& train,
               const ParallelText& validation, const ParallelText& test);

}  // namespace dbench::data
