#pragma once
// Opening files for reading and looking at paths. No function waits for a pipe or a device, and no
// function throws exceptions of std::filesystem.

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace dbench::base {

/// A regular file that is open for reading. Pipes, devices and folders are refused without waiting.
class InputFile {
public:
    explicit InputFile(const std::string& path);
    ~InputFile();
    InputFile(const InputFile&) = delete;

    /// Returns why the file could not be opened, such as "it is a folder" or "Permission denied";
    /// "" if it is open.
    const std::string& problem() const { return problem_; }
    /// Throws UserError "PATH: cannot be read (PROBLEM): REMEDY" unless the file is open.
    void require(const std::string& remedy = "check the path and its permissions") const;

    int64_t size() const { return size_; }  ///< Bytes, when the file was opened.
    /// Reads `count` bytes from offset `at`, or fewer if the file ends before. Returns the number
    /// of bytes read. Several threads may call it at once. Throws UserError, which names the file,
    /// if the system cannot read them.
    int64_t read(int64_t at, int64_t count, void* out) const;
    /// Returns the descriptor, which the caller closes.
    int release() { return std::exchange(descriptor_, -1); }

private:
    std::string path_, problem_;
    int descriptor_;
    int64_t size_ = 0;
};

/// Removes the byte order mark of UTF-8 at the beginning of a text. Throws UserError, which names
/// `path`, if the text has the mark of UTF-16 or UTF-32.
std::string without_byte_order_mark(std::string text, const std::string& path);

/// Returns read_text(path) without a byte order mark.
std::string read_plain_text(const std::string& path);

/// The kinds of objects that a path can name. Links are followed.
enum class PathKind : uint8_t { nothing, file, folder, other };

/// Returns what `path` names. Throws UserError "PATH: cannot be looked up (REASON): ..." if the
/// system does not say, for example because a folder on the way may not be entered.
PathKind kind_of(const std::string& path);

/// Returns the names in a folder, sorted, without "." and "..". On failure, sets `error` and
/// returns the names that were read before.
std::vector<std::string> names_in(const std::string& folder, std::error_code& error);

/// Returns true if `name` is `begin`, one or more decimal digits, and `end`.
bool is_numbered(std::string_view name, std::string_view begin, std::string_view end);

}  // namespace dbench::base
