#pragma once
// A key that several data sets share.

#include <optional>
#include <string>

#include "data/data_spec.hpp"
#include "data/dataset.hpp"

namespace dbench::data {

/// The key `root` of data sets that are read from files.
struct RootSpec {
    std::optional<std::string> root;  ///< Folder with the files; empty: $DBENCH_DATA.

    static const base::Section<RootSpec>& section();
};

}  // namespace dbench::data
