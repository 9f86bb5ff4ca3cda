#pragma once
// Reading ZIP archives (PKWARE's APPNOTE.TXT) as written by numpy.savez and savez_compressed.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dbench::data {

class Zip {
public:
    /// Reads the whole file. Throws UserError if it is not an archive or is damaged.
    explicit Zip(std::string path);

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

    std::string path_, bytes_;
    std::map<std::string, Entry> entries_;
};

}  // namespace dbench::data
