#pragma once
// Collections of encoded photographs with their classes, either in folders or packed into one file
// (`dbench data pack`).

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dbench::data {

/// A collection of encoded photographs. Immutable after construction.
class Photographs {
public:
    virtual ~Photographs() = default;

    int64_t size() const { return static_cast<int64_t>(labels.size()); }
    /// Returns where photograph k is stored, for messages.
    virtual std::string path(int64_t k) const = 0;
    /// Returns the encoded bytes of photograph k, either in `buffer` or in memory of this object.
    /// They are valid until `buffer` changes, and as long as this object. Throws UserError if the
    /// photograph cannot be read or is damaged. Several threads may call it at once.
    virtual std::span<const uint8_t> bytes(int64_t k, std::vector<uint8_t>& buffer) const = 0;
    /// Returns a digest of the collection: of the names in the folders, or of the index of a pack.
    virtual std::string digest() const = 0;
    /// Returns a digest of the sizes, beginnings and ends of the files in a folder; "" if the files
    /// were not checked, or if `digest` already depends on what the photographs contain.
    virtual std::string contents_digest() const { return ""; }

    std::vector<std::string> classes;  ///< Sorted.
    std::vector<int32_t> labels;       ///< Index into `classes`, for each photograph.
    /// Path below the folder, "CLASS/FILE" or "FILE", for each photograph.
    std::vector<std::string> names;
};

/// The part of the path that names the class of a photograph: the folder, or the file name up to
/// the first "_" or ".".
enum class ClassBy : uint8_t { folder, name };

/// Returns the photographs below a folder, sorted by class and name. Ignores files whose names
/// begin with a dot. `check`: also checks that each file is of a kind that can be decoded and has
/// its end (photograph_check.hpp). Throws UserError if a file fails this check, there are no
/// photographs, or a class has none.
std::shared_ptr<const Photographs> photographs_in(const std::string& folder, ClassBy by,
                                                  bool check);

/// Returns the photographs of a pack. Throws UserError if the file is not a pack, is truncated, or
/// has a damaged index. The checksum of a photograph is verified each time it is read.
std::shared_ptr<const Photographs> packed_photographs(const std::string& path);

/// Writes a pack. Calls `progress` with the number of photographs and bytes written so far. Writes
/// to PATH.partial first and replaces `path` atomically at the end. Throws RunError if it cannot be
/// written.
void pack(const Photographs& all, const std::string& path,
          const std::function<void(int64_t photographs, int64_t bytes)>& progress);

}  // namespace dbench::data
