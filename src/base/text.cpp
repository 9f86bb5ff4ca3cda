#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/json.hpp"

namespace dbench::base {

std::string column(const std::string& text, size_t width) {
    return text + std::string(text.size() < width ? width - text.size() : 1, ' ');
}

std::string aligned(const std::vector<std::vector<std::string>>& rows) {
    std::vector<size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()), 0);
        for (size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], row[k].size());
    }
    std::string text;
    for (const auto& row : rows) {
        for (size_t k = 0; k < row.size(); ++k) {
            const std::string gap(widths[k] - row[k].size(), ' ');
            text += k == 0 ? row[k] + gap : "  " + gap + row[k];
        }
        text += "\n";
    }
    return text;
}

std::string number_text(double value) {
    return value == std::floor(value) && std::abs(value) < 1e15
               ? std::to_string(static_cast<long long>(value))
               : short_text(Json(value));
}

std::string bytes_text(double bytes) {
    constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return text.data();
}

}  // namespace dbench::base
