#pragma once
// Parallel texts in two languages, for the data sets that translate.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/section.hpp"
#include "data/dataset.hpp"
#include "data/files.hpp"

namespace dbench::data {

/// Line k of `target` translates line k of `source`.
struct ParallelText {
    std::vector<std::string> source, target;
};

/// Returns the lines of a text, without a byte order mark. Throws UserError for UTF-16.
std::vector<std::string> lines_of(const DataFile& text);

/// The keys `vocabulary` and `pieces`, which end the section of every such data set.
struct PiecesSpec {
    int64_t vocabulary;                 ///< Number of byte-pair pieces of both languages.
    std::optional<std::string> pieces;  ///< Path of a file of pieces; empty: learn them.

    static const base::Section<PiecesSpec>& section();
};

/// Adds data sets of pairs of sentences to `sets`. All texts use one vocabulary for both languages,
/// which is learnt on `train` or read from the file of /data/pieces; its digest is added to the
/// checksums. Adds no validation set if `validation` is empty.
void add_pairs(DataSets& sets, const PiecesSpec& spec, const ParallelText& train,
               const ParallelText& validation, const ParallelText& test);

}  // namespace dbench::data
