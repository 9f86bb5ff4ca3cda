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

/// The parameter `vocabulary`.
base::Parameter vocabulary_parameter();

/// Makes pairs of sentences of each text, in pieces of one vocabulary of both languages, learnt on
/// `train`; no validation set where that text is empty. The vocabulary's digest joins the
/// checksums.
void add_pairs(DataSets& sets, const base::Json& spec, const ParallelText& train,
               const ParallelText& validation, const ParallelText& test);

}  // namespace dbench::data
