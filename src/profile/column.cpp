#include "profile/column.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "base/error.hpp"
#include "profile/fletcher32.hpp"
#include "profile/lookup3.hpp"

namespace dbench::profile {
namespace {

constexpr double kMaxWaitSeconds = 4;  // Seconds that a row may wait for its chunk.
constexpr double kSmallChunk = 2048, kLargeChunk = 1 << 20;  // In bytes.
constexpr unsigned kDeflate = 1;

h5::Type type_of(const ColumnSpec& spec, arena::DType precision) {
    const auto copy = [](hid_t type) { return h5::Type(H5Tcopy(type), "make a type"); };
    switch (spec.kind) {
        case Kind::real:
            return copy(precision == arena::DType::float32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE);
        case Kind::float64:
            return copy(H5T_NATIVE_DOUBLE);
        case Kind::int64:
            return copy(H5T_NATIVE_INT64);
        case Kind::int32:
            return copy(H5T_NATIVE_INT32);
        case Kind::text:
            return h5::text_type(static_cast<size_t>(spec.bytes));
    }
    h5::fail("make a type");
}

/// Computes the present and the maximum extents of a row: the number of ranks may grow when a run
/// is resumed.
void row_shape(const ColumnSpec& spec, const Axes& axes, std::vector<hsize_t>& now,
               std::vector<hsize_t>& most) {
    const std::string text = spec.axes;
    for (size_t comma = text.find(','); comma != std::string::npos;
         comma = text.find(',', comma + 1)) {
        const char axis = text[comma + 1];
        const int64_t size = extent(axes, axis);
        now.push_back(static_cast<hsize_t>(size));
        const int64_t limit = axis == 'r' ? axes.replicas : size;
        most.push_back(static_cast<hsize_t>(std::max<int64_t>({limit, size, 1})));
    }
}

int64_t chunk_rows(const Chunking& chunking, size_t row_bytes) {
    const double bytes = static_cast<double>(std::max<size_t>(row_bytes, 1));
    double rows = std::max(chunking.rows, kSmallChunk / bytes);
    rows = std::min({rows, kLargeChunk / bytes, static_cast<double>(chunking.most)});
    return std::max<int64_t>(1, static_cast<int64_t>(rows));
}

void describe(hid_t dataset, const ColumnSpec& spec) {
    h5::write_attribute(dataset, "dimensions", spec.axes);
    h5::write_attribute(dataset, "unit", spec.unit);
    h5::write_attribute(dataset, "description", spec.description);
}

/// Sets the value that unwritten elements read as, which is never mistaken for a measurement.
void set_fill(hid_t properties, const ColumnSpec& spec) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const int64_t none = -1;
    if (spec.kind == Kind::real || spec.kind == Kind::float64) {
        h5::check(H5Pset_fill_value(properties, H5T_NATIVE_DOUBLE, &nan), "make a data set");
    } else if (spec.kind != Kind::text) {
        h5::check(H5Pset_fill_value(properties, H5T_NATIVE_INT64, &none), "make a data set");
    }
}

template <class T, class From>
void convert(std::vector<std::byte>& to, std::span<const From> values) {
    const size_t at = to.size();
    to.resize(at + values.size() * sizeof(T));
    for (size_t k = 0; k < values.size(); ++k) {
        const T value = static_cast<T>(values[k]);
        std::memcpy(to.data() + at + k * sizeof(T), &value, sizeof(T));
    }
}

}  // namespace

Column::Column(hid_t group, const ColumnSpec& spec, const Axes& axes, arena::DType precision,
               const Chunking& chunking)
    : name_(spec.name),
      kind_(spec.kind),
      of_replicas_(std::string_view(spec.axes).find_first_of("nm") != std::string_view::npos),
      of_ranks_(std::string_view(spec.axes).find('r') != std::string_view::npos),
      compress_(chunking.compress),
      type_(type_of(spec, precision)) {
    std::vector<hsize_t> now{0}, most{H5S_UNLIMITED};
    row_shape(spec, axes, now, most);
    row_.assign(now.begin() + 1, now.end());
    element_ = H5Tget_size(type_);
    row_bytes_ = element_;
    for (const hsize_t size : row_) row_bytes_ *= size;
    chunk_rows_ = chunk_rows(chunking, row_bytes_);

    std::vector<hsize_t> chunk = now;
    chunk[0] = static_cast<hsize_t>(chunk_rows_);
    for (hsize_t& size : chunk) size = std::max<hsize_t>(size, 1);
    const int rank = static_cast<int>(now.size());
    const h5::Space space(H5Screate_simple(rank, now.data(), most.data()), "make a data set");
    const h5::Properties create(H5Pcreate(H5P_DATASET_CREATE), "make a data set");
    h5::check(H5Pset_chunk(create, rank, chunk.data()), "make a data set");
    if (compress_) {
        h5::check(H5Pset_shuffle(create), "make a data set");
        h5::check(H5Pset_deflate(create, kDeflate), "make a data set");
    }
    h5::check(H5Pset_fletcher32(create), "make a data set");
    set_fill(create, spec);
    dataset_ = h5::Dataset(
        H5Dcreate2(group, spec.name.c_str(), type_, space, H5P_DEFAULT, create, H5P_DEFAULT),
        "make a data set");
    describe(dataset_, spec);
}

void Column::add(std::span<const double> values) {
    if (element_ == sizeof(float) && kind_ == Kind::real) return convert<float>(pending_, values);
    DBENCH_EXPECT(kind_ == Kind::real || kind_ == Kind::float64);
    convert<double>(pending_, values);
}

void Column::add_integers(std::span<const int64_t> values) {
    if (kind_ == Kind::int32) return convert<int32_t>(pending_, values);
    DBENCH_EXPECT(kind_ == Kind::int64);
    convert<int64_t>(pending_, values);
}

void Column::add(const std::string& text) {
    DBENCH_EXPECT(kind_ == Kind::text);
    const std::string bytes = h5::fit_text(text, element_);
    const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
    pending_.insert(pending_.end(), begin, begin + bytes.size());
}

void Column::add_missing() {
    for (size_t k = 0; k < row_bytes_ / element_; ++k) add_unknown();
}

void Column::add_converted(std::span<const double> values) {
    if (kind_ == Kind::real || kind_ == Kind::float64) return add(values);
    for (const double value : values) add(static_cast<int64_t>(value));
}

void Column::add_unknown() {
    DBENCH_EXPECT(kind_ != Kind::text);
    if (kind_ == Kind::real || kind_ == Kind::float64) {
        return add(std::numeric_limits<double>::quiet_NaN());
    }
    add(int64_t{-1});
}

void Column::complete_row() {
    while (row_bytes_ > 0 && pending_.size() % row_bytes_ != 0) add_unknown();
}

int64_t Column::pending() const {
    return row_bytes_ == 0 ? 0 : static_cast<int64_t>(pending_.size() / row_bytes_);
}

int64_t Column::rows() const { return base_ + pending(); }

bool Column::commit(double now, Commit what, FileGuard& guard) {
    // Commits that are far apart wait for no further rows: iterations may take longer than that.
    const bool rare = last_commit_ >= 0 && now - last_commit_ > kMaxWaitSeconds / 2;
    last_commit_ = now;
    const int64_t have = pending();
    const bool all = what != Commit::due, seal = what == Commit::last && plain_;
    if (have == written_ && !seal) return false;
    if (waiting_since_ < 0) waiting_since_ = now;
    if (chunk_since_ < 0) chunk_since_ = now;

    const int64_t whole = have / chunk_rows_, rest = have % chunk_rows_;
    const bool patient =
        compress_ && !all && !slow_ && !rare && now - waiting_since_ < kMaxWaitSeconds;
    const bool partial = rest > 0 && !patient;
    if (whole == 0 && !partial) return false;
    guard.reserve((whole + partial) * chunk_rows_ * static_cast<int64_t>(row_bytes_));

    std::vector<hsize_t> extent{
        static_cast<hsize_t>(base_ + whole * chunk_rows_ + (partial ? rest : 0))};
    extent.insert(extent.end(), row_.begin(), row_.end());
    h5::check(H5Dset_extent(dataset_, extent.data()), "extend a data set");

    if (whole > 0) {
        write_filtered(0, whole * chunk_rows_);
        pending_.erase(pending_.begin(),
                       pending_.begin() + whole * chunk_rows_ * static_cast<int64_t>(row_bytes_));
        base_ += whole * chunk_rows_;
        written_ = 0;
        plain_ = false;
        slow_ = whole == 1 && now - chunk_since_ >= kMaxWaitSeconds;
        waiting_since_ = chunk_since_ = rest > 0 ? now : -1;
    }
    if (partial) {
        if (written_ == 0 && (what == Commit::last || (all && compress_))) {
            write_filtered(0, rest);
        } else {
            plain_ = what != Commit::last;
            write_raw_chunk(plain_);
        }
        written_ = rest;
        waiting_since_ = -1;
    }
    return true;
}

void Column::write_filtered(int64_t first, int64_t count) {
    const std::byte* from = pending_.data() + first * static_cast<int64_t>(row_bytes_);
    std::vector<hsize_t> start(row_.size() + 1, 0), size{static_cast<hsize_t>(count)};
    start[0] = static_cast<hsize_t>(base_ + first);
    size.insert(size.end(), row_.begin(), row_.end());
    const h5::Space memory(H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr),
                           "write rows");
    const h5::Space file(H5Dget_space(dataset_), "write rows");
    h5::check(
        H5Sselect_hyperslab(file, H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr),
        "write rows");
    h5::check(H5Dwrite(dataset_, type_, memory, file, H5P_DEFAULT, from), "write rows");
}

/// Writes the unfinished chunk at its full size and not compressed. If `plain`, the chunk has no
/// checksum and is rewritten in place. Otherwise it has a checksum and is written at another place,
/// because HDF5 itself cannot write a part of a plain chunk.
void Column::write_raw_chunk(bool plain) {
    // Plain chunks have a size that no other chunk has: HDF5 records a change of filters only
    // together with a change of size.
    const size_t rows = static_cast<size_t>(chunk_rows_) * row_bytes_;
    const size_t bytes = plain ? rows + rows / 500 + 64 : rows + sizeof(uint32_t);
    std::vector<std::byte> chunk(bytes);
    std::memcpy(chunk.data(), pending_.data(), std::min(rows, pending_.size()));
    if (!plain) {
        const auto* data = reinterpret_cast<const unsigned char*>(chunk.data());
        const uint32_t sum = fletcher32({data, rows});
        for (size_t k = 0; k < sizeof sum; ++k) {
            chunk[rows + k] = static_cast<std::byte>(sum >> (8 * k));
        }
    }
    std::vector<hsize_t> start(row_.size() + 1, 0);
    start[0] = static_cast<hsize_t>(base_);
    // One bit per filter, in order; the checksum is the last one.
    const uint32_t skipped = compress_ ? (plain ? 0b111 : 0b11) : (plain ? 0b1 : 0);
    h5::check(H5Dwrite_chunk(dataset_, H5P_DEFAULT, skipped, start.data(), bytes, chunk.data()),
              "write rows");
}

namespace {

void write_fixed(hid_t group, const ColumnSpec& spec, hid_t type, size_t count, const void* data) {
    const hsize_t size = count, chunk = std::max<hsize_t>(count, 1);
    const h5::Space space(H5Screate_simple(1, &size, nullptr), "make a data set");
    const h5::Properties create(H5Pcreate(H5P_DATASET_CREATE), "make a data set");
    h5::check(H5Pset_chunk(create, 1, &chunk), "make a data set");
    h5::check(H5Pset_fletcher32(create), "make a data set");
    const h5::Dataset dataset(
        H5Dcreate2(group, spec.name.c_str(), type, space, H5P_DEFAULT, create, H5P_DEFAULT),
        "make a data set");
    if (count > 0) {
        const hid_t memory = spec.kind == Kind::text ? type : H5T_NATIVE_INT64;
        h5::check(H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), "write rows");
    }
    describe(dataset, spec);
}

}  // namespace

void write_texts(hid_t group, const ColumnSpec& spec, const std::vector<std::string>& texts) {
    size_t size = static_cast<size_t>(std::max<int64_t>(spec.bytes, 1));
    for (const std::string& text : texts) size = std::max(size, text.size());
    std::string bytes;
    for (const std::string& text : texts) bytes += h5::fit_text(text, size);
    write_fixed(group, spec, h5::text_type(size), texts.size(), bytes.data());
}

void write_integers(hid_t group, const ColumnSpec& spec, const std::vector<int64_t>& values) {
    write_fixed(group, spec, spec.kind == Kind::int32 ? H5T_NATIVE_INT32 : H5T_NATIVE_INT64,
                values.size(), values.data());
}

void write_text(hid_t group, const char* name, const std::string& text, const char* description) {
    const size_t size = std::max<size_t>(text.size(), 1);
    const h5::Type type = h5::text_type(size);
    const h5::Space space(H5Screate(H5S_SCALAR), "make a data set");
    const h5::Dataset dataset(
        H5Dcreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        "make a data set");
    h5::check(
        H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, h5::fit_text(text, size).data()),
        "write a text");
    h5::write_attribute(dataset, "description", description);
    h5::write_attribute(dataset, kTextChecksum, text_checksum(text));
}

int64_t text_checksum(const std::string& text) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
    return lookup3({bytes, text.size()});
}

}  // namespace dbench::profile
