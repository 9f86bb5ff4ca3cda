#pragma once
// Writing whole files safely, and refusing paths that are not regular files.

#include <cstddef>
#include <string>

namespace dbench::base {

/// A file that is written sequentially. The constructor removes an existing file or link of that
/// name first; the target of a link is not modified. All functions throw RunError "WHAT PATH cannot
/// be written: REASON" on failure.
class NewFile {
public:
    NewFile(std::string what, std::string path);
    ~NewFile();
    NewFile(const NewFile&) = delete;

    void add(const void* data, size_t bytes);
    void close();   ///< Closes without syncing: a crash of the machine may lose the contents.
    void finish();  ///< Syncs to the disk, then closes.

private:
    [[noreturn]] void fail(const char* done) const;

    std::string what_, path_;
    int descriptor_ = -1;
};

/// Returns why `path` cannot be read as a regular file: it is a folder, or a pipe or device, which
/// may never end. Returns "" for a regular file and for a path that does not exist.
std::string why_not_regular_file(const std::string& path);

/// Writes a file and syncs it to the disk.
void write_synced(const std::string& what, const std::string& path, const std::string& bytes);
/// Syncs the list of files in a folder to the disk, if the file system supports that.
void sync_folder(const std::string& path);

/// Renames a complete file. Without `replace` nothing that exists is replaced. Throws RunError
/// "WHAT TO cannot be ...: REASON"; both files are then as they were.
void rename_file(const std::string& what, const std::string& from, const std::string& to,
                 bool replace);
/// Renames `from` to `to` unless `to` exists. Returns false and sets errno (EEXIST, for example) if
/// the system refuses.
bool rename_without_replacing(const std::string& from, const std::string& to);

/// Replaces a file atomically, by way of PATH.partial: a reader sees either the old or the new
/// bytes. Does not sync to the disk. Throws RunError; the old file is then not modified.
void replace_file(const std::string& what, const std::string& path, const std::string& bytes);

/// Checks that replace_file can write the file, by creating and removing PATH.partial. Throws
/// RunError "WHAT PATH.partial cannot be created: REASON".
void check_writable(const std::string& what, const std::string& path);

}  // namespace dbench::base
