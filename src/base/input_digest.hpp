#pragma once
// Digests of what a process has read, so that processes can find out whether they have read the
// same.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dbench::base {

/// The digest of one file, of one folder of files, or of a part of them, as it was read.
struct InputDigest {
    InputDigest(std::string name, std::string digest, int64_t bytes = -1, std::string path = "")
        : name(std::move(name)), digest(std::move(digest)), bytes(bytes), path(std::move(path)) {}

    std::string name;    ///< Its name in results and messages; the file's name, if it is a file.
    std::string digest;  ///< A text that depends on the content, such as crc32_text returns.
    int64_t bytes;       ///< Size of the content; -1 if the digest is not of a file's bytes.
    std::string path;    ///< The file or folder, as it was opened; "" if it is not known.

    bool operator==(const InputDigest&) const = default;
};

/// Returns the CRC-32 of the bytes as "crc32:0123abcd" (IEEE 802.3, as zlib computes it).
std::string crc32_text(std::string_view bytes);

/// Returns the digest of a whole file: its name is the last part of the path.
InputDigest digest_of_file(const std::string& path, std::string_view content);

}  // namespace dbench::base
