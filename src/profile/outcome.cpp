#include "profile/outcome.hpp"

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "profile/h5.hpp"
#include "profile/superblock.hpp"

namespace dbench::profile {
namespace {

constexpr uint32_t kChecksum = 1;  // The only filter of the data sets that are rewritten.

/// Rewrites a row in a chunk that was left plain because its writer failed; HDF5 cannot write into
/// such a chunk. Returns false if the row's chunk is an ordinary one. `value` is in stored
/// representation.
bool rewrite_plain(const h5::Dataset& dataset, hsize_t row, size_t size, const void* value) {
    const h5::Properties made(H5Dget_create_plist(dataset), "write rows");
    hsize_t chunk = 1, bytes = 0;
    uint32_t skipped = 0;
    if (H5Pget_layout(made) != H5D_CHUNKED || H5Pget_chunk(made, 1, &chunk) != 1) return false;
    const hsize_t start = row / chunk * chunk;
    h5::check(H5Dget_chunk_storage_size(dataset, &start, &bytes), "write rows");
    if (bytes <= chunk * size + sizeof(uint32_t)) return false;
    std::vector<char> rows(bytes);
    h5::check(H5Dread_chunk(dataset, H5P_DEFAULT, &start, &skipped, rows.data()), "write rows");
    if (!(skipped & kChecksum)) return false;
    std::memcpy(rows.data() + (row - start) * size, value, size);
    h5::check(H5Dwrite_chunk(dataset, H5P_DEFAULT, skipped, &start, bytes, rows.data()),
              "write rows");
    return true;
}

void rewrite_row(hid_t file, const char* name, hid_t type, hsize_t row, const void* value) {
    const h5::Dataset dataset = h5::open_dataset(file, name);
    if (rewrite_plain(dataset, row, H5Tget_size(type), value)) return;
    const hsize_t one = 1;
    const h5::Space memory(H5Screate_simple(1, &one, nullptr), "write rows");
    const h5::Space space(H5Dget_space(dataset), "write rows");
    h5::check(H5Sselect_hyperslab(space, H5S_SELECT_SET, &row, nullptr, &one, nullptr),
              "write rows");
    h5::check(H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, value), "write rows");
}

void rewrite_text(hid_t file, const char* name, hsize_t row, const std::string& text) {
    const h5::Dataset dataset = h5::open_dataset(file, name);
    const h5::Type type(H5Dget_type(dataset), "read a type");
    const std::string bytes = h5::fit_text(text, H5Tget_size(type));
    rewrite_row(file, name, type, row, bytes.data());
}

}  // namespace

void write_outcome(const std::string& path, const RunOutcome& outcome, int64_t segment,
                   int64_t last_iteration) {
    h5::File file = open_for_change(path);
    if (!outcome.rho.empty()) {
        const hsize_t rows =
            std::min<hsize_t>(outcome.rho.size(), h5::rows_of(file, "/graphs/rho"));
        for (hsize_t row = 0; row < rows; ++row) {
            rewrite_row(file, "/graphs/rho", H5T_NATIVE_DOUBLE, row, &outcome.rho[row]);
        }
    }
    const auto row = static_cast<hsize_t>(std::max<int64_t>(segment, 0));
    if (row < h5::rows_of(file, "/segments/last_iteration")) {
        rewrite_row(file, "/segments/last_iteration", H5T_NATIVE_INT64, row, &last_iteration);
        rewrite_text(file, "/segments/reason", row, outcome.status);
    }
    h5::rewrite_attribute(file, "error", outcome.error);
    h5::rewrite_attribute(file, "finished", base::iso_time());
    h5::rewrite_attribute(file, "status", outcome.status);
    if (!file.close()) h5::fail("close it");
}

}  // namespace dbench::profile
