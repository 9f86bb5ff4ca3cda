#pragma once
// Reading NumPy's .npy format: a header, which is a Python dictionary with type, order and shape,
// followed by the numbers.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace dbench::base {

/// An array inside the bytes of a file, not copied. Its numbers are little-endian and complete.
struct NpyArray {
    std::string kind;            ///< Type without byte order: "f4", "f8", "u1", "i8", "b1", ...
    bool fortran_order = false;  ///< Fortran order: the first index changes fastest.
    std::vector<size_t> shape;
    std::string_view data;

    size_t width() const { return static_cast<size_t>(kind[1] - '0'); }  ///< Bytes per number.
    size_t count() const;                                                ///< Product of the shape.
    bool real() const { return kind[0] == 'f'; }
    /// Returns the function that reads one number as a double; null if the type is unknown.
    double (*reader() const)(const char*);
};

/// Parses a file's `content`; the result points into it, and `path` names the file in errors.
/// Allows at most `most` numbers; every dimension must be at least 1. Throws UserError.
NpyArray parse_npy(std::string_view content, const std::string& path, size_t most);

}  // namespace dbench::base
