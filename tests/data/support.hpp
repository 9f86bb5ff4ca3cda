#pragma once
// Helpers of the data tests: files with given contents, and resolved specs.

#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/folder.hpp"
#include "data/dataset.hpp"

namespace dbench::test {

using base::Folder;

/// Sets an environment variable (or unsets it, if null) and restores it in the destructor.
class Environment {
public:
    Environment(std::string name, const char* value) : name_(std::move(name)) {
        if (const char* old = std::getenv(name_.c_str())) old_ = old, had_ = true;
        value != nullptr ? setenv(name_.c_str(), value, 1) : unsetenv(name_.c_str());
    }
    ~Environment() { had_ ? setenv(name_.c_str(), old_.c_str(), 1) : unsetenv(name_.c_str()); }

private:
    std::string name_, old_;
    bool had_ = false;
};

using Bytes = std::vector<uint8_t>;

inline void write_file(const std::string& path, const Bytes& bytes) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
}

/// Writes a sparse file of `size` zeros, which uses no space on the disk.
inline void write_zeros(const std::string& path, int64_t size) {
    write_file(path, {});
    std::filesystem::resize_file(path, static_cast<uintmax_t>(size));
}

inline void write_gz(const std::string& path, const Bytes& bytes) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    gzFile file = gzopen(path.c_str(), "wb1");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
}

/// Returns the message of the UserError that `work` throws; "" if it does not throw one.
template <class Work>
std::string refusal(Work&& work) {
    try {
        work();
    } catch (const base::UserError& error) {
        return error.what();
    }
    return "";
}

inline base::Json data_spec(const std::string& text) {
    return data::resolve_data(base::parse_json(text, "test"), "/data");
}

/// Returns input `index` in float64.
inline std::vector<double> input_of(const data::Dataset& data, int64_t index,
                                    data::Order order = data::Order::contiguous,
                                    uint64_t augment_key = 0) {
    int64_t numel = 1;
    for (const int64_t each : data.shape()) numel *= each;
    std::vector<double> out(static_cast<size_t>(numel));
    data.input(index, arena::DType::float64, order, augment_key, out.data());
    return out;
}

}  // namespace dbench::test
