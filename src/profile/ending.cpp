#include "profile/ending.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "profile/h5.hpp"
#include "profile/superblock.hpp"

namespace dbench::profile {
namespace {

/// Rows [first, first + count) of a one-dimensional data set.
void rewrite_rows(hid_t file, const char* name, hid_t type, hsize_t first, hsize_t count,
                  const void* values) {
    const h5::Dataset dataset(H5Dopen2(file, name, H5P_DEFAULT), "open a data set");
    const h5::Space memory(H5Screate_simple(1, &count, nullptr), "write rows");
    const h5::Space space(H5Dget_space(dataset), "write rows");
    h5::check(H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, nullptr, &count, nullptr),
              "write rows");
    h5::check(H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, values), "write rows");
}

void rewrite_text(hid_t file, const char* name, hsize_t row, const std::string& text) {
    const h5::Dataset dataset(H5Dopen2(file, name, H5P_DEFAULT), "open a data set");
    const h5::Type type(H5Dget_type(dataset), "read a type");
    const std::string bytes = h5::fitted(text, H5Tget_size(type));
    rewrite_rows(file, name, type, row, 1, bytes.data());
}

}  // namespace

void write_ending(const std::string& path, const Ending& ending, int64_t segment,
                  int64_t last_iteration) {
    h5::File file = open_for_change(path);
    if (!ending.rho.empty()) {
        const hsize_t rows = std::min<hsize_t>(ending.rho.size(), h5::rows_of(file, "/graphs/rho"));
        rewrite_rows(file, "/graphs/rho", H5T_NATIVE_DOUBLE, 0, rows, ending.rho.data());
    }
    const auto row = static_cast<hsize_t>(std::max<int64_t>(segment, 0));
    if (row < h5::rows_of(file, "/segments/last_iteration")) {
        rewrite_rows(file, "/segments/last_iteration", H5T_NATIVE_INT64, row, 1, &last_iteration);
        rewrite_text(file, "/segments/reason", row, ending.status);
    }
    h5::rewrite_attribute(file, "error", ending.error);
    h5::rewrite_attribute(file, "finished", base::iso_time());
    h5::rewrite_attribute(file, "status", ending.status);
    if (!file.close()) h5::fail("close it");
}

}  // namespace dbench::profile
