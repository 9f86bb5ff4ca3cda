#pragma once
// A data set that grows by rows while other processes read it. Internal to this module.

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

/// How the rows of a group are divided into chunks.
struct Chunking {
    double rows = 64;      ///< Rows that arrive in about two seconds.
    int64_t most = 1;      ///< Upper bound of the rows of the whole run.
    bool compress = true;  ///< Shuffle and deflate.
};

/// The rows to be written: those that have waited long enough; all; or all, and none will follow.
enum class Commit : uint8_t { due, all, last };

/// Rows wait in memory until their chunk is full; then the chunk is written once, compressed and
/// with a checksum. If that takes longer than a few seconds, the unfinished chunk is stored
/// uncompressed at its full size and rewritten in place as rows arrive: readers see the rows, and
/// the file does not grow. Such a chunk has no checksum, because chunk and checksum could not be
/// updated in one write. Once it is full, or the last one, it is written again at another place
/// like the others.
class Column {
public:
    Column(hid_t group, const ColumnSpec& spec, const Axes& axes, arena::DType precision,
           const Chunking& chunking);

    const std::string& name() const { return name_; }
    /// Adds values in row-major order, converted to the column's type. A row may arrive in several
    /// calls.
    void add(std::span<const double> values);
    void add(double value) { add(std::span<const double>(&value, 1)); }
    void add_integers(std::span<const int64_t> values);
    void add(int64_t value) { add_integers({&value, 1}); }
    void add(int32_t value) { add(static_cast<int64_t>(value)); }
    void add(const std::string& text);
    /// Adds numbers that were read as float64, converted to the column's type.
    void add_converted(std::span<const double> values);
    /// Adds a row of unknown values (NaN; -1 for integers).
    void add_missing();
    /// Fills the rest of a row that was begun with unknown values.
    void complete_row();
    Kind kind() const { return kind_; }
    /// True if a row has values of single replicas.
    bool of_replicas() const { return of_replicas_; }
    /// True if a row has one value per rank.
    bool of_ranks() const { return of_ranks_; }
    /// The extents of a row.
    const std::vector<hsize_t>& extents() const { return row_; }
    hid_t type() const { return type_; }
    size_t row_bytes() const { return row_bytes_; }
    /// Adds whole rows in their stored representation.
    void add_rows(std::span<const std::byte> bytes) {
        pending_.insert(pending_.end(), bytes.begin(), bytes.end());
    }

    /// Writes the rows that are due at time `now` (seconds), or more, if `guard` can reserve the
    /// space. Returns true if something was written; readers see it after the file's flush. Throws
    /// NoSpace.
    bool commit(double now, Commit what, FileGuard& guard);
    int64_t rows() const;  ///< Complete rows, written or not.
    /// Drops the data set without calling HDF5.
    void abandon() { dataset_.abandon(); }

private:
    void add_unknown();
    int64_t pending() const;
    /// Writes pending rows through HDF5's filters.
    void write_filtered(int64_t first, int64_t count);
    void write_raw_chunk(bool plain);

    std::string name_;
    Kind kind_;
    bool of_replicas_, of_ranks_;
    std::vector<hsize_t> row_;  ///< Shape of a row.
    size_t element_;            ///< Bytes.
    size_t row_bytes_;
    int64_t chunk_rows_;
    bool compress_;
    h5::Type type_;
    h5::Dataset dataset_;

    std::vector<std::byte> pending_;  ///< Rows from `base_` on.
    int64_t base_ = 0;                ///< First row of the unfinished chunk.
    int64_t written_ = 0;  ///< Rows of the unfinished chunk that are already in the file.
    double waiting_since_ = -1, chunk_since_ = -1;
    double last_commit_ = -1;  ///< Time of the last call of `commit`; -1 before the first.
    bool slow_ = false;        ///< The last chunk took too long to fill.
    bool plain_ = false;       ///< The unfinished chunk is stored in the file without its filters.
};

/// Write data sets of fixed size at once.
void write_texts(hid_t group, const ColumnSpec& spec, const std::vector<std::string>& texts);
void write_integers(hid_t group, const ColumnSpec& spec, const std::vector<int64_t>& values);
/// Writes a scalar text, with its checksum as an attribute: HDF5 has no checksums for data that are
/// not in chunks.
void write_text(hid_t group, const char* name, const std::string& text, const char* description);
constexpr const char* kTextChecksum = "lookup3";
int64_t text_checksum(const std::string& text);

}  // namespace dbench::profile
