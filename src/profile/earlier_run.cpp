#include "profile/earlier_run.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "base/error.hpp"
#include "profile/matrix_digest.hpp"
#include "profile/superblock.hpp"

namespace dbench::profile {
namespace {

constexpr size_t kSlab = 4 << 20;  // Bytes read at once.

using h5::extents;
using h5::read_rows;

constexpr hsize_t kMostRows = hsize_t{1} << 31;

[[noreturn]] void fail_shape(const std::string& name) {
    throw h5::Error("cannot read " + name + " (its shape is not that of a run's rows)");
}

h5::Dataset open_dataset(const h5::File& file, const std::string& name) {
    return h5::open_dataset(file, name.c_str());
}

/// Returns the second extent: ranks or replicas.
int64_t width(const h5::File& file, const std::string& name) {
    const std::vector<hsize_t> shape = extents(open_dataset(file, name));
    if (shape.size() != 2) fail_shape(name);
    return static_cast<int64_t>(shape[1]);
}

std::vector<int64_t> integers(const h5::File& file, const std::string& name) {
    const h5::Dataset dataset = open_dataset(file, name);
    const std::vector<hsize_t> shape = extents(dataset);
    if (shape.size() != 1 || shape[0] > kMostRows) fail_shape(name);
    std::vector<int64_t> out(shape[0]);
    if (!out.empty()) read_rows(dataset, 0, out.size(), H5T_NATIVE_INT64, out.data());
    return out;
}

bool exists(const h5::File& file, const std::string& name) {
    return H5Lexists(file, name.c_str(), H5P_DEFAULT) > 0;
}

std::string text_at(const h5::File& file, const std::string& name, int64_t row) {
    const h5::Dataset dataset = open_dataset(file, name);
    const h5::Type type(H5Dget_type(dataset), "read a type");
    const std::vector<hsize_t> shape = extents(dataset);
    const auto at = static_cast<hsize_t>(row);
    if (row < 0 || shape.size() != 1 || shape[0] <= at || H5Tis_variable_str(type) != 0)
        fail_shape(name);
    std::string text(H5Tget_size(type), '\0');
    read_rows(dataset, at, 1, type, text.data());
    return text.substr(0, text.find('\0'));
}

std::string earlier_run_last_text(const h5::File& file, const std::string& name) {
    const std::vector<hsize_t> shape = extents(open_dataset(file, name));
    return text_at(file, name, shape.empty() ? -1 : static_cast<int64_t>(shape[0]) - 1);
}

/// Returns the number of rows of a sorted column that are below `end`.
int64_t below(const h5::File& file, const std::string& name, int64_t end) {
    if (!exists(file, name)) return 0;
    const std::vector<int64_t> values = integers(file, name);
    return std::lower_bound(values.begin(), values.end(), end) - values.begin();
}

/// Returns the digest of the entries [begin, end) of /graphs.
uint64_t digest_of_entries(const h5::Dataset& edge, const h5::Dataset& weight, int64_t begin,
                           int64_t end) {
    constexpr auto kMost = static_cast<int64_t>(kSlab / sizeof(double));
    MatrixDigest digest;
    std::vector<int64_t> edges;
    std::vector<double> weights;
    for (int64_t at = begin; at < end; at += kMost) {
        const int64_t count = std::min(kMost, end - at);
        const auto row = static_cast<hsize_t>(at), rows = static_cast<hsize_t>(count);
        edges.resize(2 * rows);
        weights.resize(rows);
        read_rows(edge, row, rows, H5T_NATIVE_INT64, edges.data());
        read_rows(weight, row, rows, H5T_NATIVE_DOUBLE, weights.data());
        for (size_t k = 0; k < rows; ++k) digest.add(edges[2 * k], edges[2 * k + 1], weights[k]);
    }
    return digest.value();
}

/// Returns the matrices that iterations used, whose rows of /graphs are `graph`. Rows are numbered
/// in the order of their first use.
std::vector<EarlierRun::Matrix> used_matrices(const h5::File& file,
                                              const std::vector<int64_t>& graph) {
    int64_t count = 0;
    for (const int64_t row : graph) count = std::max(count, row + 1);
    if (count == 0) return {};
    const std::vector<int64_t> offset = integers(file, "graphs/offset");
    const h5::Dataset edge = h5::open_dataset(file, "graphs/edge"),
                      weight = h5::open_dataset(file, "graphs/weight"),
                      rho = h5::open_dataset(file, "graphs/rho");
    const std::vector<hsize_t> edges = extents(edge), weights = extents(weight);
    if (std::ssize(offset) <= count || offset[0] != 0) fail_shape("graphs/offset");
    if (edges.size() != 2 || edges[1] != 2) fail_shape("graphs/edge");
    if (weights.size() != 1) fail_shape("graphs/weight");
    const auto entries = static_cast<int64_t>(std::min(edges[0], weights[0]));
    const std::vector<hsize_t> rows = extents(rho);
    if (rows.size() != 1 || static_cast<int64_t>(rows[0]) < count) fail_shape("graphs/rho");
    std::vector<double> values(static_cast<size_t>(count));
    read_rows(rho, 0, values.size(), H5T_NATIVE_DOUBLE, values.data());
    std::vector<EarlierRun::Matrix> matrices;
    for (size_t m = 0; m < values.size(); ++m) {
        const int64_t begin = offset[m], end = offset[m + 1];
        if (begin > end || end > entries) fail_shape("graphs/offset");
        matrices.push_back({end, digest_of_entries(edge, weight, begin, end), values[m]});
    }
    return matrices;
}

EarlierRun read_earlier_run(const h5::File& file, const std::string& path, int64_t first) {
    EarlierRun e;
    e.path = path;
    e.first = first;
    e.started = h5::read_text_attribute(file, "started");
    e.graph = integers(file, "iterations/graph");
    const auto recorded = below(file, "iterations/iteration", first);
    if (recorded < first || static_cast<int64_t>(e.graph.size()) < first) {
        throw base::UserError(path + " holds " + std::to_string(recorded) +
                              " iterations, but the checkpoint has " + std::to_string(first) +
                              " (it is not this run's file): start again with --overwrite");
    }
    e.graph.resize(static_cast<size_t>(first));
    e.ranks = width(file, "iterations/step_time");
    e.replicas = width(file, "iterations/train_loss");
    e.matrices = used_matrices(file, e.graph);
    e.profiled = below(file, "parameters/iteration", first);
    e.variance = below(file, "parameters/variance_iteration", first);
    // A start at iteration 0 evaluates the initial models again.
    if (first > 0) e.evaluations = below(file, "evaluations/iteration", first + 1);
    e.events = below(file, "events/iteration", first);
    for (int64_t row = below(file, "events/iteration", first - 1); row < e.events; ++row) {
        e.last_events.emplace_back(text_at(file, "events/kind", row),
                                   text_at(file, "events/text", row));
    }
    const std::vector<int64_t> starts = integers(file, "segments/first_iteration"),
                               ranks = integers(file, "segments/ranks");
    if (starts.empty() || ranks.empty()) fail_shape("segments");
    e.segments = static_cast<int64_t>(starts.size());
    e.segment_ends = integers(file, "segments/last_iteration");
    if (e.segment_ends.size() < starts.size()) fail_shape("segments");
    e.last = {earlier_run_last_text(file, "segments/started"),
              earlier_run_last_text(file, "segments/host"),
              earlier_run_last_text(file, "segments/job"),
              earlier_run_last_text(file, "segments/reason"),
              ranks.back(),
              starts.back()};
    return e;
}

}  // namespace

h5::File open_for_reading(const std::string& path) {
    h5::prepare();
    const WriteMark mark = write_mark(path);
    const unsigned mode = H5F_ACC_RDONLY | (mark.readable ? H5F_ACC_SWMR_READ : 0U);
    h5::File file(H5Fopen(path.c_str(), mode, h5::file_access()), "open it");
    h5::refuse_other_files(file);
    return file;
}

EarlierRun read_earlier_run(const std::string& path, int64_t first) {
    try {
        return read_earlier_run(open_for_reading(path), path, first);
    } catch (const h5::Error& error) {
        throw base::UserError("the result file " + path + ", which the run should continue, " +
                              error.what() + ": start again with --overwrite");
    }
}

void copy_rows(const h5::File& from, const std::string& group, int64_t rows, Column& column,
               const std::function<void()>& some) {
    if (rows <= 0) return;
    const std::string name = group + "/" + column.name();
    if (column.of_ranks() && !exists(from, name)) {  // an earlier version did not record it
        for (int64_t k = 0; k < rows; ++k) column.add_missing();
        return;
    }
    const h5::Dataset dataset = open_dataset(from, name);
    std::vector<hsize_t> there = extents(dataset);
    there.erase(there.begin());
    const bool longer = there != column.extents();
    hsize_t numbers = 1;
    for (const hsize_t extent : there) numbers *= extent;
    const size_t row_bytes = longer ? numbers * sizeof(double) : column.row_bytes();
    const auto most =
        static_cast<int64_t>(std::max<size_t>(1, kSlab / std::max<size_t>(1, row_bytes)));
    for (int64_t first = 0; first < rows; first += most) {
        const int64_t count = std::min(most, rows - first);
        std::vector<std::byte> bytes(static_cast<size_t>(count) * row_bytes);
        const hid_t type = longer ? H5T_NATIVE_DOUBLE : column.type();
        try {
            read_rows(dataset, static_cast<hsize_t>(first), static_cast<hsize_t>(count), type,
                      bytes.data());
        } catch (const h5::Error& error) {
            throw DamagedRows(name + ", rows " + std::to_string(first) + " to " +
                              std::to_string(first + count - 1) + ", " + error.what());
        }
        if (longer) {
            const auto* values = reinterpret_cast<const double*>(bytes.data());
            for (int64_t k = 0; k < count; ++k) {
                column.add_converted({values + static_cast<hsize_t>(k) * numbers, numbers});
                column.complete_row();
            }
        } else {
            column.add_rows(bytes);
        }
        some();
    }
}

}  // namespace dbench::profile
