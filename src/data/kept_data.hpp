#pragma once
// Data sets that several specs share are read once.

#include <string>

#include "data/dataset.hpp"

namespace dbench::data {

/// Keeps the data sets that it loaded last. Not for several threads.
class KeptData {
public:
    /// Returns what load_data returns, and reads nothing if the last call loaded the same samples.
    /// Files that change between the two calls are not read again: the sets and their digests are
    /// those of the first call.
    DataSets load(const base::Json& spec, const DataContext& context);

private:
    std::string samples_;  ///< The keys that determine sets_, as text; empty: nothing is kept.
    DataSets sets_;
};

}  // namespace dbench::data
