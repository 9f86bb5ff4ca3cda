#pragma once
// Reading the files of published data sets, with errors that say what is wrong and where to get the
// file.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.hpp"

namespace dbench::data {

/// The contents of a data file; unpacked if its name ends in .gz.
struct DataFile {
    std::string path;
    std::vector<uint8_t> bytes;  ///< At most `limit + 1` bytes.
    /// Size of the contents; a lower bound for a .gz that is longer than `limit`.
    int64_t size = 0;
};

/// Reads at most `limit + 1` bytes, which suffices to detect a file that is too long; of such a
/// file that is not compressed, only the beginning. Throws UserError if the file cannot be read or
/// unpacked; `source` says where to get it.
DataFile read_data_file(const std::string& path, int64_t limit, const std::string& source);

/// Returns the contents as text without a byte order mark. Throws UserError for UTF-16.
std::string text_of(const DataFile& file);

/// Throws UserError unless the contents are exactly `expected` bytes; `layout` explains this
/// number.
void check_size(const DataFile& file, int64_t expected, const std::string& layout,
                const std::string& source);

/// Returns the CRC-32 of the unpacked contents as "crc32:0123abcd"; so a plain and a .gz file have
/// the same digest.
std::string digest(const std::vector<uint8_t>& bytes);
std::string digest(const std::string& bytes);

/// Returns /data/root, or else $DBENCH_DATA. Throws UserError if neither is set. The error message
/// names `folder`, which should be in the root, and `source`.
std::string data_root(const std::optional<std::string>& root, const std::string& folder,
                      const std::string& source);

/// Returns `path` or, if nothing is there, the path below $DBENCH_DATA; "" if nothing is there,
/// either.
std::string existing_path(const std::string& path);

/// Returns the path of a file that /data/`key` names: the path as given or, if there is no such
/// file, below $DBENCH_DATA. Throws UserError if there is none.
std::string named_file(const std::string& path, const std::string& key);

/// Returns the first of `folders` (relative to `root`) that contains one of `names`; "" if none
/// does.
std::string find_folder(const std::string& root, const std::vector<std::string>& folders,
                        const std::vector<std::string>& names);

/// Returns the path of the first of `names` that exists in `folder`; "" if none does.
std::string find_file(const std::string& folder, const std::vector<std::string>& names);

}  // namespace dbench::data
