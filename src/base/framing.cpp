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

std::string bytes_of(std::span<const double> values) {
    return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

std::vector<double> doubles_of(std::string_view bytes) {
    std::vector<double> values(bytes.size() / sizeof(double));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
    return values;
}

std::vector<double> doubles_of(const std::vector<std::string>& texts) {
    std::vector<double> all;
    for (const std::string& text : texts) {
        const std::vector<double> values = doubles_of(std::string_view(text));
        all.insert(all.end(), values.begin(), values.end());
    }
    return all;
}

}  // namespace dbench::base
