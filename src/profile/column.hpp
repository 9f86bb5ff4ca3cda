#pragma once
// A data set that grows by rows while others read it. Internal to this room.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "arena/rows.hpp"
#include "profile/file_guard.hpp"
#include "profile/h5.hpp"
#include "profile/schema.hpp"

namespace dbench::profile {

/// How the rows of a group are cut into chunks.
struct Chunking {
    double rows = 64;      ///< that come in about two seconds
    int64_t most = 1;      ///< rows that will ever come
    bool compress = true;  ///< shuffle and deflate
};

/// Which rows are written: those that have waited long enough; all; all, and none will follow.
enum class Commit : uint8_t { due, all, last };

/// Rows wait in memory until their chunk is full, then it is written once, compressed and with a
/// checksum. Where that would take longer than a few seconds, the unfinished chunk is stored plain
/// at its full size and written again in place as rows come: the file does not grow by it, and
/// readers see the rows. It has no checksum, which could not be written together with the rows;
/// when it is full, or the last, it is written anew elsewhere, as the others are.
class Column {
public:
    Column(hid_t group, const ColumnSpec& spec, const Axes& axes, arena::DType precision,
           const Chunking& chunking);

    const std::string& name() const { return name_; }
    /// Values in row-major order, converted to the column's type; rows may come in pieces.
    void add(std::span<const double> values);
    void add(double value) { add(std::span<const double>(&value, 1)); }
    void add_integers(std::span<const int64_t> values);
    void add(int64_t value) { add_integers({&value, 1}); }
    void add(int32_t value) { add(static_cast<int64_t>(value)); }
    void add(const std::string& text);
    /// A row whose values are not known.
    void add_missing();
    /// The rest of a row that was begun: values that are not known.
    void complete_row();
    Kind kind() const { return kind_; }
    bool of_replicas() const { return of_replicas_; }  ///< a row has values of single replicas
    /// Extents of a row.
    const std::vector<hsize_t>& extents() const { return row_; }
    hid_t type() const { return type_; }
    size_t row_bytes() const { return row_bytes_; }
    /// Whole rows as they lie in memory.
    void add_rows(std::span<const std::byte> bytes) {
        pending_.insert(pending_.end(), bytes.begin(), bytes.end());
    }

    /// Writes what is due at time `now` (seconds), or more, where `guard` finds room for it.
    /// Returns whether there was something; readers see it after the file's flush.
    bool commit(double now, Commit what, FileGuard& guard);
    int64_t rows() const;  ///< complete ones, written or not
    /// Gives up the data set without a word to HDF5.
    void abandon() { dataset_.abandon(); }

private:
    int64_t pending() const;
    void write_whole(int64_t first, int64_t count);
    void write_direct(bool plain);

    std::string name_;
    Kind kind_;
    bool of_replicas_;
    std::vector<hsize_t> row_;  ///< shape of a row
    size_t element_;            ///< bytes
    size_t row_bytes_;
    int64_t chunk_rows_;
    bool compress_;
    h5::Type type_;
    h5::Dataset dataset_;

    std::vector<std::byte> pending_;  ///< rows from `base_` on
    int64_t base_ = 0;                ///< first row of the unfinished chunk
    int64_t written_ = 0;             ///< its rows that are in the file already
    double waiting_since_ = -1, chunk_since_ = -1;
    bool slow_ = false;   ///< the last chunk took too long to fill
    bool plain_ = false;  ///< the unfinished chunk lies in the file without its filters
};

/// Data sets of fixed size, written at once.
void write_texts(hid_t group, const ColumnSpec& spec, const std::vector<std::string>& texts);
void write_integers(hid_t group, const ColumnSpec& spec, const std::vector<int64_t>& values);
/// A scalar text, with its checksum as an attribute: HDF5 has none for what is not in chunks.
void write_text(hid_t group, const char* name, const std::string& text, const char* description);
constexpr const char* kTextChecksum = "lookup3";
int64_t text_checksum(const std::string& text);

}  // namespace dbench::profile
