#pragma once
// Reads result files using HDF5 only, without the code of dbench that reads them.

#include <string>
#include <vector>

#include "profile/h5.hpp"
#include "profile/superblock.hpp"

namespace dbench::profile::tests {

class ResultReader {
public:
    /// Opens the file, in single-writer mode if it is marked so.
    explicit ResultReader(const std::string& path) {
        h5::prepare();
        const unsigned mode = write_mark(path).readable ? H5F_ACC_SWMR_READ : 0U;
        file_ =
            h5::File(H5Fopen(path.c_str(), H5F_ACC_RDONLY | mode, h5::file_access()), "open it");
    }

    std::vector<hsize_t> shape(const std::string& name) const {
        const h5::Dataset dataset = open(name);
        const h5::Space space(H5Dget_space(dataset), "read a size");
        std::vector<hsize_t> sizes(static_cast<size_t>(H5Sget_simple_extent_ndims(space)));
        H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
        return sizes;
    }
    std::vector<double> numbers(const std::string& name) const {
        std::vector<double> values(count(name));
        const h5::Dataset dataset = open(name);
        h5::check(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
                  "read numbers");
        return values;
    }
    std::vector<std::string> texts(const std::string& name) const {
        const h5::Dataset dataset = open(name);
        const h5::Type type(H5Dget_type(dataset), "read a type");
        const size_t size = H5Tget_size(type);
        std::string all(size * count(name), '\0');
        h5::check(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()), "read texts");
        std::vector<std::string> list;
        for (size_t at = 0; at < all.size(); at += size)
            list.emplace_back(all.substr(at, size).c_str());
        return list;
    }
    std::string attribute(const std::string& name, const std::string& object = "/") const {
        const h5::Attribute found = find(object, name);
        const h5::Type type(H5Aget_type(found), "read a type");
        std::string text(H5Tget_size(type), '\0');
        h5::check(H5Aread(found, type, text.data()), "read an attribute");
        return text.c_str();
    }
    int64_t integer(const std::string& name, const std::string& object = "/") const {
        int64_t value = 0;
        h5::check(H5Aread(find(object, name), H5T_NATIVE_INT64, &value), "read an attribute");
        return value;
    }
    bool has(const std::string& name) const {
        return H5Lexists(file_, name.c_str(), H5P_DEFAULT) > 0;
    }
    size_t element_bytes(const std::string& name) const {
        return H5Tget_size(h5::Type(H5Dget_type(open(name)), "read a type"));
    }

private:
    h5::Dataset open(const std::string& name) const {
        return {H5Dopen2(file_, name.c_str(), H5P_DEFAULT), name.c_str()};
    }
    h5::Attribute find(const std::string& object, const std::string& name) const {
        return {H5Aopen_by_name(file_, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT),
                name.c_str()};
    }
    size_t count(const std::string& name) const {
        size_t product = 1;
        for (const hsize_t size : shape(name)) product *= size;
        return product;
    }

    h5::File file_;
};

}  // namespace dbench::profile::tests
