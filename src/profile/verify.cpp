#include "profile/verify.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "profile/column.hpp"
#include "profile/earlier_run.hpp"
#include "profile/h5.hpp"

namespace dbench::profile {
namespace {

using Damage = Verification::Damage;

constexpr hsize_t kMostRow = hsize_t{1} << 32;
constexpr hsize_t kVerifyMostBytes =
    64 << 20;  // Largest chunk; dbench writes at most 1 MiB, or one row.

herr_t add_name(hid_t /*group*/, const char* name, const H5L_info_t* /*link*/, void* names) {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
    return 0;
}

/// Returns the names in a group, sorted. HDF5 lists them in its own order: to sort, HDF5 1.10
/// allocates a table from a number in the file, and frees entries that it never set if the number
/// is damaged.
std::vector<std::string> members(hid_t group) {
    std::vector<std::string> names;
    h5::check(H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, add_name, &names),
              "list a group");
    std::sort(names.begin(), names.end());
    return names;
}

std::optional<Damage> check_text(hid_t file, const std::string& name, Verification& found) {
    const h5::Dataset dataset = h5::open_dataset(file, name.c_str());
    const std::string text = h5::read_text(file, name.c_str());
    if (H5Aexists(dataset, kTextChecksum) <= 0) return {};
    ++found.with_checksums;
    if (h5::read_integer_attribute(dataset, kTextChecksum) == text_checksum(text)) return {};
    return Damage{name, 0, -1, "its checksum differs"};
}

std::optional<Damage> check_rows(hid_t file, const std::string& name, Verification& found) {
    const h5::Dataset dataset = h5::open_dataset(file, name.c_str());
    const std::vector<hsize_t> extents = h5::extents(dataset);
    if (extents.empty()) return check_text(file, name, found);
    const h5::Properties made(H5Dget_create_plist(dataset), "read a data set");
    const h5::Type type(H5Dget_type(dataset), "read a type");
    unsigned flags = 0;
    size_t none = 0;
    found.with_checksums += H5Pget_filter_by_id2(made, H5Z_FILTER_FLETCHER32, &flags, &none,
                                                 nullptr, 0, nullptr, nullptr) >= 0;
    std::vector<hsize_t> chunk = extents;
    if (H5Pget_layout(made) == H5D_CHUNKED) {
        H5Pget_chunk(made, static_cast<int>(chunk.size()), chunk.data());
    }
    hsize_t row_bytes = H5Tget_size(type);
    for (size_t k = 1; k < extents.size(); ++k) row_bytes *= extents[k];
    if (row_bytes == 0 || extents[0] == 0) return {};
    if (row_bytes > kMostRow) return Damage{name, 0, -1, "its rows have no sensible size"};
    const hsize_t most = std::max<hsize_t>(1, kVerifyMostBytes / row_bytes);
    const hsize_t step = std::clamp<hsize_t>(chunk[0], 1, most);
    std::vector<char> rows(row_bytes * std::min(step, extents[0]));
    for (hsize_t first = 0; first < extents[0]; first += step) {
        const hsize_t count = std::min(step, extents[0] - first);
        try {
            h5::read_rows(dataset, first, count, type, rows.data());
        } catch (const h5::Error& error) {
            return Damage{name, static_cast<int64_t>(first),
                          static_cast<int64_t>(first + count - 1), error.what()};
        }
    }
    return {};
}

/// Checks the data sets of the root group and of its subgroups.
void check_group(hid_t file, const std::string& group, Verification& found) {
    const h5::Group here(H5Gopen2(file, group.empty() ? "/" : group.c_str(), H5P_DEFAULT),
                         "open a group");
    for (const std::string& member : members(here)) {
        const std::string name = group.empty() ? member : group + "/" + member;
        try {
            const hid_t object = H5Oopen(file, name.c_str(), H5P_DEFAULT);
            if (object < 0) h5::fail("open it");
            const bool is_group = H5Iget_type(object) == H5I_GROUP;
            H5Oclose(object);
            if (is_group && group.empty()) {
                check_group(file, name, found);
            } else if (!is_group) {
                ++found.data_sets;
                if (auto damage = check_rows(file, name, found)) found.damage.push_back(*damage);
            }
        } catch (const h5::Error& error) {
            found.damage.push_back({name, 0, -1, error.what()});
        }
    }
}

}  // namespace

Verification verify(const std::string& path) {
    Verification found;
    try {
        const h5::File file = open_for_reading(path);
        check_group(file, "", found);
    } catch (const h5::Error& error) {
        throw base::UserError(path + ": " + error.what());
    }
    return found;
}

std::string to_text(const Verification& found) {
    const auto number = [](int64_t value) { return std::to_string(value); };
    std::string text = base::column("  checksums", 14) + "of " + number(found.with_checksums) +
                       " of " + number(found.data_sets) + " data sets, " +
                       (found.damage.empty() ? "all good" : "NOT all good") + "\n";
    for (const Damage& damage : found.damage) {
        text += base::column("  damaged", 14) + damage.data_set;
        if (damage.last >= damage.first) {
            text += ", rows " + number(damage.first) + " to " + number(damage.last);
        }
        text += " (" + damage.reason + ")\n";
    }
    return text;
}

}  // namespace dbench::profile
