#pragma once
// Copying the files of a data set in compressed form, for machines to which few bytes can be moved.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace dbench::data {

/// A file that was copied in compressed form.
struct CompressedFile {
    std::string name;           ///< the name in the new folder: the old one with ".gz" at its end
    int64_t bytes, compressed;  ///< the sizes before and after compression
    std::string digest;         ///< the CRC-32 of the contents, as digest() (files.hpp) returns it
};

/// Returns the names of the files in `folder` that compress_files() would copy: all regular files,
/// sorted. Throws UserError if the folder cannot be read, has no file, or has a file whose name
/// ends in ".gz".
std::vector<std::string> files_to_compress(const std::string& folder);

/// Writes a gzip file to the folder `target` for each of the files `names` of `folder`. Each new
/// file is read back and compared with its original before it gets its name. Creates `target` if
/// needed, and replaces files only with `replace`. Calls `progress` after each file with the number
/// of files and of bytes read so far. Throws UserError if a file cannot be read or exists already,
/// and RunError if one cannot be written or its copy differs.
std::vector<CompressedFile> compress_files(
    const std::string& folder, const std::vector<std::string>& names, const std::string& target,
    bool replace, const std::function<void(int64_t files, int64_t bytes)>& progress);

}  // namespace dbench::data
