#pragma once
// RAII handles and errors for HDF5. Internal to this module: includes hdf5.h.

#include <hdf5.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace dbench::profile::h5 {

/// The operation that HDF5 refused, with its innermost reason. Callers that know the file add its
/// name.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Initialises HDF5; must precede every other call. Disables its clean-up at exit (it never ends
/// after a failed write), its error stacks on standard error, and links to other files.
void prepare();

/// Throws Error "cannot WHAT (REASON)" with the reason of the last failed call.
[[noreturn]] void fail(const std::string& what);

inline hid_t checked(hid_t id, const char* what) {
    if (id < 0) fail(what);
    return id;
}
inline void check(herr_t status, const char* what) {
    if (status < 0) fail(what);
}

/// Owns an HDF5 identifier and closes it with kClose.
template <herr_t (*kClose)(hid_t)>
class Handle {
public:
    Handle() = default;
    /// Takes over a new identifier; a negative one throws Error "cannot WHAT".
    Handle(hid_t id, const char* what) : id_(checked(id, what)) {}
    Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
    Handle& operator=(Handle&& other) noexcept {
        std::swap(id_, other.id_);
        return *this;
    }
    ~Handle() { static_cast<void>(close()); }

    /// Returns true if HDF5 could close it; the handle is empty afterwards in any case.
    bool close() { return id_ < 0 || kClose(std::exchange(id_, -1)) >= 0; }
    /// Forgets the identifier without closing it.
    void abandon() { id_ = -1; }
    operator hid_t() const { return id_; }
    bool is_open() const { return id_ >= 0; }

private:
    hid_t id_ = -1;
};

using File = Handle<H5Fclose>;
using Group = Handle<H5Gclose>;
using Dataset = Handle<H5Dclose>;
using Space = Handle<H5Sclose>;
using Type = Handle<H5Tclose>;
using Attribute = Handle<H5Aclose>;
using Properties = Handle<H5Pclose>;

/// Returns the properties for file access: the 1.10 format (which single-writer mode needs and
/// every later HDF5 reads), every handle closed with the file, no chunk cache. HDF5's own file
/// locks are disabled: they fail on some file systems, and single-writer mode does not hold them
/// (FileGuard has a better one).
Properties file_access();

/// Returns the type of a fixed-length UTF-8 text, padded with zeros; `size` in bytes, at least 1.
Type text_type(size_t size);

/// Writes a text attribute of `size` bytes (0: as long as the text).
void write_attribute(hid_t object, const char* name, const std::string& text, size_t size = 0);
void write_attribute(hid_t object, const char* name, int64_t value);
/// Replaces the value of an existing text attribute; its size does not change, and longer texts are
/// cut.
void rewrite_attribute(hid_t object, const char* name, const std::string& text);

/// Return "" and 0 if there is no such attribute.
std::string read_text_attribute(hid_t object, const char* name);
int64_t read_integer_attribute(hid_t object, const char* name);

/// Opens a data set. Throws Error if its rows are stored in another file.
Dataset open_dataset(hid_t file, const char* name);
/// Returns "its rows are in another file" if that is so (external storage, or a virtual data set),
/// else "".
std::string foreign_rows(hid_t dataset);
/// Throws Error if a file refers to other files: by external links, external storage or virtual
/// data sets. A result file holds everything itself.
void refuse_other_files(hid_t file);
std::vector<hsize_t> extents(const Dataset& dataset);
/// Reads rows [first, first + count) as `type` into `to`.
void read_rows(const Dataset& dataset, hsize_t first, hsize_t count, hid_t type, void* to);
/// Reads a scalar text of fixed length, without the zeros at its end.
std::string read_text(hid_t file, const char* name);

/// Returns the first extent of the data set.
hsize_t rows_of(hid_t file, const char* name);

/// Returns `text` in exactly `size` bytes: padded with zeros, or cut between two characters.
std::string fit_text(const std::string& text, size_t size);

}  // namespace dbench::profile::h5
