#include "train/models/exported/fields.hpp"

#include <cmath>
#include <limits>

#include "base/error.hpp"

namespace dbench::train {

void refuse_export(const std::string& where, const std::string& reason) {
    throw base::UserError(where + ": " + reason + ": " + kExportAgain);
}

void refuse_model(const std::string& where, const std::string& reason, const std::string& remedy) {
    throw base::UserError(where + ": " + reason + ": " + remedy + ", and export it again");
}

Field Field::at(const char* key) const {
    if (!value_.is_object()) refuse("is not an object");
    const auto found = value_.find(key);
    if (found == value_.end()) refuse("has no key " + std::string(key));
    return {*found, where_ + "/" + key};
}

Field Field::at(size_t index) const {
    if (index >= size()) refuse("has no element " + std::to_string(index));
    return {value_[index], where_ + "/" + std::to_string(index)};
}

size_t Field::size() const {
    if (!value_.is_array()) refuse("is not a list");
    return value_.size();
}

int64_t Field::integer() const {
    const bool fits =
        value_.is_number_integer() &&
        (!value_.is_number_unsigned() ||
         value_.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
    if (!fits) refuse("is not a whole number");
    return value_.get<int64_t>();
}

int64_t Field::size_number() const {
    const int64_t value = integer();
    if (value < 0) refuse("is negative");
    return value;
}

bool Field::flag() const {
    if (!value_.is_boolean()) refuse("is neither true nor false");
    return value_.get<bool>();
}

double Field::number() const {
    if (value_.is_string()) {
        const std::string& text = value_.get_ref<const std::string&>();
        if (text == "Infinity") return std::numeric_limits<double>::infinity();
        if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
        if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    }
    if (!value_.is_number()) refuse("is not a number");
    return value_.get<double>();
}

const std::string& Field::text() const {
    if (!value_.is_string()) refuse("is not a string");
    return value_.get_ref<const std::string&>();
}

std::string Field::only_key() const {
    if (!value_.is_object() || value_.size() != 1) refuse("is not an object with one key");
    return value_.begin().key();
}

}  // namespace dbench::train
