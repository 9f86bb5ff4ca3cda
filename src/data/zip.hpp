#pragma once
// Reading ZIP archives (PKWARE's APPNOTE.TXT) as written by numpy.savez, numpy.savez_compressed and
// torch.export.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dbench::data {

/// The words with which errors describe an archive.
struct ArchiveWords {
    std::string kind;    ///< For example "an .npz file".
    std::string holds;   ///< For example "arrays".
    std::string remedy;  ///< For example "write it again with numpy.savez".
};

class Zip {
public:
    /// Reads the whole file, an archive of NumPy's arrays. Throws UserError if it is not an archive
    /// or is damaged.
    explicit Zip(std::string path);
    /// Reads `bytes`, the contents of the file `path`. Throws UserError in the same way.
    Zip(std::string path, std::string bytes, ArchiveWords words);

    const std::string& path() const { return path_; }
    const std::string& bytes() const { return bytes_; }
    bool has(const std::string& name) const { return entries_.contains(name); }
    std::vector<std::string> names() const;
    /// Returns the contents of the entry `name`, unpacked and verified. Precondition: has(name).
    /// Throws UserError.
    std::string read(const std::string& name) const;

private:
    struct Entry {
        uint64_t method, crc, packed, size, offset;
    };
    uint64_t number(uint64_t at, int width) const;
    void add_entry(uint64_t at);
    [[noreturn]] void refuse(const std::string& problem) const;
    [[noreturn]] void refuse_damaged(const std::string& problem) const;

    std::string path_, bytes_;
    ArchiveWords words_;
    std::map<std::string, Entry> entries_;
};

}  // namespace dbench::data
