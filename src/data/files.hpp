#pragma once
// Reading the files of published data sets, and saying what is wrong with them.

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.hpp"

namespace dbench::data {

/// The contents of a data file; of one whose name ends in .gz, unpacked.
struct DataFile {
    std::string path;
    std::vector<uint8_t> bytes;  ///< at most `limit + 1` of them
    int64_t size = 0;  ///< of the contents; where longer than `limit`, a lower bound for .gz
};

/// Reads at most `limit + 1` bytes: one too many is enough to know. Throws UserError where the file
/// cannot be read or unpacked; `source` says where to get it.
DataFile read_data_file(const std::string& path, int64_t limit, const std::string& source);

/// Throws UserError unless the contents are exactly `expected` bytes; `layout` explains the number.
void check_size(const DataFile& file, int64_t expected, const std::string& layout,
                const std::string& source);

/// Digest of the contents (so plain and .gz agree): CRC-32 as "crc32:0123abcd".
std::string digest(const std::vector<uint8_t>& bytes);
std::string digest(const std::string& bytes);

/// `root` of a resolved /data object, or $DBENCH_DATA. Throws UserError where neither is set.
/// `folder`: what should be found there.
std::string data_root(const base::Json& spec, const std::string& folder, const std::string& source);

/// A file that /data/`key` names: the path as given, or else under $DBENCH_DATA. Throws UserError
/// where there is none.
std::string named_file(const std::string& path, const std::string& key);

/// The first of `folders` (relative to `root`) that holds one of `names`; empty where none does.
std::string find_folder(const std::string& root, const std::vector<std::string>& folders,
                        const std::vector<std::string>& names);

/// The first of `names` that is in `folder`, as a path; empty where none is.
std::string find_file(const std::string& folder, const std::vector<std::string>& names);

}  // namespace dbench::data
