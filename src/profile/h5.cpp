#include "profile/h5.hpp"

#include <algorithm>
#include <string_view>

namespace dbench::profile::h5 {
namespace {

struct Reason {
    std::string innermost, system;
};

/// Extracts the system's reason from the description of HDF5's file driver: "..., errno = 28, error
/// message = 'No space left on device', ...".
std::string system_reason(std::string_view description) {
    constexpr std::string_view kMark = "error message = '";
    const size_t at = description.find(kMark);
    if (at == std::string_view::npos) return "";
    description.remove_prefix(at + kMark.size());
    return std::string(description.substr(0, description.find('\'')));
}

herr_t collect(unsigned, const H5E_error2_t* error, void* into) {
    auto& reason = *static_cast<Reason*>(into);
    const std::string description = error->desc ? error->desc : "";
    if (reason.innermost.empty()) reason.innermost = description;
    if (reason.system.empty()) reason.system = system_reason(description);
    return 0;
}

}  // namespace

void prepare() {
    static const bool once = [] {
        H5dont_atexit();
        H5open();
        H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
        // A file must never make this program open another one.
        H5Lunregister(H5L_TYPE_EXTERNAL);
        return true;
    }();
    static_cast<void>(once);
}

void fail(const std::string& what) {
    Reason reason;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect, &reason);
    H5Eclear2(H5E_DEFAULT);
    const std::string why = reason.system.empty() ? reason.innermost : reason.system;
    throw Error("cannot " + what + (why.empty() ? "" : " (" + why + ")"));
}

Properties file_access() {
    Properties access(H5Pcreate(H5P_FILE_ACCESS), "prepare file access");
    check(H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110), "set the file format");
    check(H5Pset_fclose_degree(access, H5F_CLOSE_STRONG), "prepare file access");
    // A reader concurrent with a writer retries if it finds half-written metadata, after 1, 2, 4,
    // ... ns. HDF5's default of one hundred retries would never end in a damaged file.
    check(H5Pset_metadata_read_attempts(access, 24), "prepare file access");
    // Without a chunk cache a whole chunk is compressed and written at once, and a failure is
    // reported by that write.
    check(H5Pset_cache(access, 0, 521, 0, 1), "prepare file access");
#if (H5_VERS_MAJOR == 1 && H5_VERS_MINOR == 10 && H5_VERS_RELEASE >= 7) || H5_VERSION_GE(1, 12, 1)
    check(H5Pset_file_locking(access, false, true), "prepare file access");
#endif
    return access;
}

Type text_type(size_t size) {
    Type type(H5Tcopy(H5T_C_S1), "make a text type");
    check(H5Tset_size(type, std::max<size_t>(size, 1)), "make a text type");
    check(H5Tset_strpad(type, H5T_STR_NULLPAD), "make a text type");
    check(H5Tset_cset(type, H5T_CSET_UTF8), "make a text type");
    return type;
}

std::string fit_text(const std::string& text, size_t size) {
    std::string bytes = text;
    if (bytes.size() > size) {
        size_t end = size;
        while (end > 0 && (static_cast<unsigned char>(bytes[end]) & 0xC0) == 0x80) --end;
        bytes.resize(end);
    }
    bytes.resize(size, '\0');
    return bytes;
}

void write_attribute(hid_t object, const char* name, const std::string& text, size_t size) {
    size = std::max<size_t>(size ? size : text.size(), 1);
    const Type type = text_type(size);
    const Space space(H5Screate(H5S_SCALAR), "make an attribute");
    const Attribute attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT),
                              "make an attribute");
    check(H5Awrite(attribute, type, fit_text(text, size).data()), "write an attribute");
}

void write_attribute(hid_t object, const char* name, int64_t value) {
    const Space space(H5Screate(H5S_SCALAR), "make an attribute");
    const Attribute attribute(
        H5Acreate2(object, name, H5T_NATIVE_INT64, space, H5P_DEFAULT, H5P_DEFAULT),
        "make an attribute");
    check(H5Awrite(attribute, H5T_NATIVE_INT64, &value), "write an attribute");
}

void rewrite_attribute(hid_t object, const char* name, const std::string& text) {
    const Attribute attribute(H5Aopen(object, name, H5P_DEFAULT), "open an attribute");
    const Type type(H5Aget_type(attribute), "read an attribute's type");
    check(H5Awrite(attribute, type, fit_text(text, H5Tget_size(type)).data()),
          "write an attribute");
}

std::string read_text_attribute(hid_t object, const char* name) {
    if (H5Aexists(object, name) <= 0) return "";
    const Attribute attribute(H5Aopen(object, name, H5P_DEFAULT), "open an attribute");
    const Type type(H5Aget_type(attribute), "read an attribute's type");
    if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0) return "";
    std::string text(H5Tget_size(type), '\0');
    check(H5Aread(attribute, type, text.data()), "read an attribute");
    return text.substr(0, text.find('\0'));
}

int64_t read_integer_attribute(hid_t object, const char* name) {
    if (H5Aexists(object, name) <= 0) return 0;
    const Attribute attribute(H5Aopen(object, name, H5P_DEFAULT), "open an attribute");
    int64_t value = 0;
    check(H5Aread(attribute, H5T_NATIVE_INT64, &value), "read an attribute");
    return value;
}

Dataset open_dataset(hid_t file, const char* name) {
    Dataset dataset(H5Dopen2(file, name, H5P_DEFAULT), "open a data set");
    if (const std::string elsewhere = foreign_rows(dataset); !elsewhere.empty()) {
        throw Error(std::string("cannot read ") + name + " (" + elsewhere + ")");
    }
    return dataset;
}

namespace {

struct Visit {
    hid_t file;
    std::string found;  // The first reference to another file.
};

/// Visits one link of a file; a non-zero result ends the visit. Objects that cannot be opened are
/// damaged, and reported by the functions that read them.
herr_t visit_link(hid_t, const char* name, const H5L_info_t* link, void* into) {
    auto& visit = *static_cast<Visit*>(into);
    if (link->type >= H5L_TYPE_UD_MIN) {
        visit.found = std::string("cannot read ") + name + " (it is a link to another file)";
        return 1;
    }
    if (link->type != H5L_TYPE_HARD) return 0;
    const hid_t object = H5Oopen(visit.file, name, H5P_DEFAULT);
    if (object < 0) return 0;
    try {
        const bool rows = H5Iget_type(object) == H5I_DATASET;
        const std::string elsewhere = rows ? foreign_rows(object) : "";
        if (!elsewhere.empty()) {
            visit.found = std::string("cannot read ") + name + " (" + elsewhere + ")";
        }
    } catch (const Error&) {  // Exceptions must not pass through the library.
    }
    H5Oclose(object);
    return visit.found.empty() ? 0 : 1;
}

}  // namespace

std::string foreign_rows(hid_t dataset) {
    const Properties made(H5Dget_create_plist(dataset), "read a data set");
    const H5D_layout_t layout = H5Pget_layout(made);
    const bool foreign = layout == H5D_VIRTUAL || H5Pget_external_count(made) > 0;
    return foreign ? "its rows are in another file" : "";
}

void refuse_other_files(hid_t file) {
    Visit visit{file, ""};
    H5Lvisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, visit_link, &visit);
    H5Eclear2(H5E_DEFAULT);
    if (!visit.found.empty()) throw Error(visit.found);
}

std::vector<hsize_t> extents(const Dataset& dataset) {
    const Space space(H5Dget_space(dataset), "read a size");
    std::vector<hsize_t> out(static_cast<size_t>(std::max(0, H5Sget_simple_extent_ndims(space))));
    check(H5Sget_simple_extent_dims(space, out.data(), nullptr), "read a size");
    return out;
}

void read_rows(const Dataset& dataset, hsize_t first, hsize_t count, hid_t type, void* to) {
    std::vector<hsize_t> size = extents(dataset), start(size.size(), 0);
    size[0] = count;
    start[0] = first;
    const Space memory(H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr),
                       "read rows");
    const Space file(H5Dget_space(dataset), "read rows");
    check(H5Sselect_hyperslab(file, H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr),
          "read rows");
    check(H5Dread(dataset, type, memory, file, H5P_DEFAULT, to), "read rows");
}

std::string read_text(hid_t file, const char* name) {
    const Dataset dataset = open_dataset(file, name);
    const Type type(H5Dget_type(dataset), "read a type");
    if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0 ||
        !extents(dataset).empty()) {
        throw Error(std::string("cannot read ") + name + " (it is not a text of fixed length)");
    }
    std::string text(H5Tget_size(type), '\0');
    check(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()), "read a text");
    return text.substr(0, text.find_last_not_of('\0') + 1);
}

hsize_t rows_of(hid_t file, const char* name) {
    const Dataset dataset = open_dataset(file, name);
    const Space space(H5Dget_space(dataset), "read a size");
    hsize_t sizes[H5S_MAX_RANK] = {0};
    check(H5Sget_simple_extent_dims(space, sizes, nullptr), "read a size");
    return sizes[0];
}

}  // namespace dbench::profile::h5
