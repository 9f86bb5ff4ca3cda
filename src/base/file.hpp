#pragma once
// Files that are written as a whole.

#include <cstddef>
#include <string>

namespace dbench::base {

/// A file that is written from front to back. It takes the place of what has its name; a link of
/// that name goes, and what it points to stays as it is. All throw RunError: "WHAT PATH cannot be
/// written: REASON".
class NewFile {
public:
    NewFile(std::string what, std::string path);
    ~NewFile();
    NewFile(const NewFile&) = delete;

    void add(const void* data, size_t bytes);
    void close();   ///< its contents may still be lost where the machine fails
    void finish();  ///< brings it to the disk and closes it

private:
    [[noreturn]] void fail(const char* done) const;

    std::string what_, path_;
    int descriptor_ = -1;
};

/// Why `path` is not to be read as a file: a folder, or a pipe or device, which may never end; ""
/// where it is an ordinary file, or there is none.
std::string not_ordinary(const std::string& path);

/// Writes a file and brings it to the disk.
void write_synced(const std::string& what, const std::string& path, const std::string& bytes);
/// Brings to the disk which files the folder holds, where the file system can.
void sync_folder(const std::string& path);

/// Puts a file in the place of another at once, by way of PATH.partial: whoever reads it sees the
/// old bytes or the new. Not brought to the disk. Throws RunError; the old file then stays.
void replace_file(const std::string& what, const std::string& path, const std::string& bytes);

}  // namespace dbench::base
