#include "base/framing.hpp"

#include <cstdint>
#include <cstring>

#include "base/error.hpp"

namespace dbench::base {

std::string join_texts(const std::vector<std::string>& texts) {
    std::string bytes;
    for (const std::string& text : texts) {
        const uint64_t length = text.size();
        bytes.append(reinterpret_cast<const char*>(&length), sizeof length).append(text);
    }
    return bytes;
}

std::vector<std::string> split_texts(const std::string& bytes) {
    std::vector<std::string> texts;
    for (size_t at = 0; at < bytes.size();) {
        uint64_t length = 0;
        const size_t left = bytes.size() - at;
        if (left >= sizeof length) std::memcpy(&length, bytes.data() + at, sizeof length);
        if (left < sizeof length || left - sizeof length < length) {
            throw RunError("joined texts end early");
        }
        at += sizeof length;
        texts.push_back(bytes.substr(at, length));
        at += length;
    }
    return texts;
}

std::string bytes_of(const std::vector<double>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
}

std::vector<double> doubles_of(const std::string& bytes) {
    std::vector<double> values(bytes.size() / sizeof(double));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

}  // namespace dbench::base
