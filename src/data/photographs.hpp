#pragma once
// Photographs as they lie in files, not decoded, and their classes: in folders, or packed into one
// file.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dbench::data {

class Photographs {
public:
    virtual ~Photographs() = default;

    int64_t size() const { return static_cast<int64_t>(labels.size()); }
    /// Where photograph k lies, for messages.
    virtual std::string path(int64_t k) const = 0;
    /// Its file's bytes, in `room` or elsewhere: valid until `room` changes, and as long as this.
    /// Throws UserError where it cannot be read, or is damaged. By several threads at once.
    virtual std::span<const uint8_t> bytes(int64_t k, std::vector<uint8_t>& room) const = 0;
    /// Of what there is: of the names in folders, of all of a pack.
    virtual std::string digest() const = 0;

    std::vector<std::string> classes;  ///< sorted
    std::vector<int32_t> labels;       ///< of each photograph, its class's place in `classes`
    std::vector<std::string> names;  ///< of each its path below the folder, "CLASS/FILE" or "FILE"
};

/// What tells a photograph's class: the folder in which it lies, or its file's name as far as the
/// first "_" or ".".
enum class ClassBy : uint8_t { folder, name };

/// The photographs below a folder, by class and name; files whose names begin with a dot are left
/// out. `check`: each file is looked at, whether it is a JPEG that has an end. Throws UserError
/// where one is cut off, there are none, or a class has none.
std::shared_ptr<const Photographs> photographs_in(const std::string& folder, ClassBy by,
                                                  bool check);

/// Those of a pack. Throws UserError where the file is no pack, is cut off, or its index is
/// damaged; the checksum of a photograph is compared whenever that is read.
std::shared_ptr<const Photographs> packed_photographs(const std::string& path);

/// Writes a pack. `progress` is told how many photographs, of how many bytes, it holds so far. What
/// has the name `path` is replaced at the end, at once; until then, PATH.partial grows. Throws
/// RunError where it cannot be written.
void pack(const Photographs& all, const std::string& path,
          const std::function<void(int64_t photographs, int64_t bytes)>& progress);

}  // namespace dbench::data
