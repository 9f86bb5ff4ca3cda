#pragma once  // Private to train/models/exported.
// Reading JSON documents of an exported model: every access checks the type, and errors name the
// file and the place in it.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.hpp"

namespace dbench::train {

/// Ends the messages about files that are damaged or of another kind.
inline constexpr const char* kExportAgain = "write it again with dbench-export";

/// Throws UserError "WHERE: REASON: write it again with dbench-export".
[[noreturn]] void refuse_export(const std::string& where, const std::string& reason);

/// Throws UserError "WHERE: REASON: REMEDY, and export it again", if the model must change.
[[noreturn]] void refuse_model(const std::string& where, const std::string& reason,
                               const std::string& remedy);

/// One value of a JSON document. The document must outlive it.
class Field {
public:
    Field(const base::Json& value, std::string where) : value_(value), where_(std::move(where)) {}

    const base::Json& json() const { return value_; }
    const std::string& where() const { return where_; }
    [[noreturn]] void refuse(const std::string& reason) const { refuse_export(where_, reason); }

    bool has(const char* key) const { return value_.is_object() && value_.contains(key); }
    /// True if the object has the key and its value is not null.
    bool holds(const char* key) const { return has(key) && !value_[key].is_null(); }
    Field at(const char* key) const;
    Field at(size_t index) const;
    size_t size() const;  ///< The length of a list.
    int64_t integer() const;
    int64_t size_number() const;  ///< A whole number of at least 0.
    bool flag() const;
    double number() const;  ///< Also "Infinity", "-Infinity" and "NaN".
    const std::string& text() const;
    /// Returns the only key of an object.
    std::string only_key() const;

private:
    const base::Json& value_;
    std::string where_;
};

}  // namespace dbench::train
